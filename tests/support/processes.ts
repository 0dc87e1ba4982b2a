/** Starts and ends what tests need: redis-servers, the demo's server, other programs in TypeScript. */
import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { endWithUs } from "../../scripts/lib/processes.mjs";
import { startRedis as startServer } from "../../scripts/lib/redis.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Something that runs next to the test until it is stopped. */
export interface Running {
  readonly process: ChildProcess;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface RunningRedis {
  readonly url: string;
  /** A connection for the test itself. */
  readonly client: Redis;
  /** Ends the server, as a crash does; `restart` starts another on the same port, with nothing in it. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Has it answer nothing and end no connection, until it is woken. */
  hang(): void;
  wake(): void;
  stop(): Promise<void>;
}

export interface RunningDemo extends Running {
  readonly url: string;
}

/** A redis-server on a free port; `settings` are more of its configuration. */
export async function startRedis(settings: Readonly<Record<string, string>> = {}): Promise<RunningRedis> {
  let server = await startServer(settings);
  const { url, port } = server;
  const client = new Redis(url, { retryStrategy: () => 100, maxRetriesPerRequest: null });
  client.on("error", () => undefined); // expected while a test has killed the server
  return {
    url,
    client,
    kill: () => server.stop("SIGKILL"),
    restart: async () => {
      server = await startServer({ ...settings, port });
    },
    hang: () => void server.process.kill("SIGSTOP"),
    wake: () => void server.process.kill("SIGCONT"),
    stop: async () => {
      client.disconnect();
      await server.stop();
    },
  };
}

/** The demo's server on a free port; in memory unless `env` names another back end. */
export async function startDemo(env: Record<string, string> = {}): Promise<RunningDemo> {
  let url = "";
  const running = await start(
    ["www/server/main.ts"],
    { PORT: "0", BACK_END: "memory", REDIS_URL: "", BROKER: "", ...env },
    (line) => {
      url = /^http:\/\/\S+\/$/.exec(line)?.[0] ?? "";
      return url !== "";
    },
  );
  return { ...running, url };
}

let inMemory: Promise<RunningDemo> | undefined;

/** One for all tests of a worker, each of which has readers of its own; it ends with the worker. */
export const demoInMemory = (): Promise<RunningDemo> => (inMemory ??= startDemo());

/** A program in TypeScript, of a directory where `tsx` is installed. */
export const startProgram = (
  directory: string,
  file: string,
  env: Record<string, string>,
  ready: (line: string) => boolean,
): Promise<Running> => start([file], env, ready, directory);

/**
 * Resolves when a line of the output says that it is ready; rejects with the output when it ends before. It is run through
 * node itself, so that a signal reaches the program and not a wrapper around it.
 */
async function start(
  args: readonly string[],
  env: Record<string, string>,
  isReady: (line: string) => boolean,
  directory = root,
): Promise<Running> {
  const child = spawn(process.execPath, ["--import", "tsx", ...args], {
    cwd: directory,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { stop } = endWithUs(child);
  let output = "";
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      if (output.split("\n").some(isReady)) resolve();
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", reject);
    child.on("exit", () => {
      reject(new Error(`${args.join(" ")} ended before it was ready:\n${output}`));
    });
  });
  return {
    process: child,
    stop,
  };
}
