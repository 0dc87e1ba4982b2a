/** Runs other programs for tests, such as redis-server and the demo's server, and waits for conditions. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { endWithUs } from "../../scripts/lib/processes.mjs";
import { startRedis as startServer } from "../../scripts/lib/redis.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A process that runs until it is stopped. */
export interface Running {
  readonly process: ChildProcess;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface RunningRedis {
  readonly url: string;
  /** A connection for the test itself. */
  readonly client: Redis;
  /** Ends the server like a crash; `restart` starts an empty one on the same port. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Stops the process: it does not respond, and its connections stay open, until it is woken. */
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

/** One server for all tests of a worker, each with readers of its own; it ends with the worker. */
export const demoInMemory = (): Promise<RunningDemo> => (inMemory ??= startDemo());

/** A program in TypeScript, of a directory where `tsx` is installed. */
export const startProgram = (
  directory: string,
  file: string,
  env: Record<string, string>,
  ready: (line: string) => boolean,
): Promise<Running> => start([file], env, ready, directory);

/**
 * Resolves when `isReady` accepts a line of the output; rejects with the output if the program ends before. It is run by
 * node itself, so that a signal reaches the program and not a wrapper.
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

const POLL_MS = 50;

/**
 * Resolves when the condition is true, which is polled, and whose promise may never resolve. The minute is for a busy
 * machine.
 */
export async function until(what: string, isMet: () => Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const done = new AbortController();
  const tooLate = pause(patienceMs, undefined, { signal: done.signal }).then(() => {
    throw new Error(`timed out: ${what}`);
  });
  try {
    while (!(await Promise.race([isMet(), tooLate]))) await pause(POLL_MS);
  } finally {
    done.abort();
  }
}

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `npx seenguard` with this standard input. */
export function runCommand(args: readonly string[], input = ""): Promise<Ended> {
  const child = spawn(process.execPath, [join(root, "dist", "cli.js"), ...args]);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  // A command that needs no input may end before it was written.
  child.stdin.on("error", () => undefined).end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (status) => {
      resolve({ status, stdout, stderr });
    });
  });
}

const hermesDirectories: Partial<Record<NodeJS.Platform, string>> = {
  linux: "linux64-bin",
  darwin: "osx-bin",
  win32: "win64-bin",
};

/**
 * Runs a script in Hermes, React Native's engine, as its npm package brings it, and returns what it prints.
 * @param tools the directory whose node_modules has the package
 */
export async function runHermes(tools: string, script: string): Promise<string> {
  const program = join(tools, "node_modules", "hermes-engine-cli", hermesDirectories[process.platform] ?? "", "hermes");
  // Its warnings are about names that a browser has.
  const options = { maxBuffer: 1 << 24, timeout: 60_000 };
  const { stdout } = await promisify(execFile)(program, ["-w", script], options);
  return stdout;
}
