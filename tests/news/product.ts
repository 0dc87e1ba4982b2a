/**
 * The product of examples/news as its team has it: a copy outside of this repository, with the packed
 * package installed, built by its own script, over a real Redis, with server and worker in processes of their own.
 */
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inProject } from "../../scripts/lib/paths.mjs";
import { startProgram, startRedis } from "../support/processes.ts";
import { npmInstall, pack } from "../packed/pack.ts";

const exec = promisify(execFile);
const sources = inProject("examples", "news");

export interface Product {
  readonly address: string;
  /** Whether reports are recorded, or wait. */
  readonly setStream: (running: boolean) => void;
  stop(): Promise<void>;
}

export async function startProduct(): Promise<Product> {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-news-"));
  await install(directory);
  const redis = await startRedis();
  const env = { REDIS_URL: redis.url, PORT: "0" };
  let address = "";
  const server = await startProgram(directory, "server/web.ts", env, (line) => {
    address = /^http:\/\/\S+/.exec(line)?.[0] ?? "";
    return address !== "";
  });
  const worker = await startProgram(directory, "server/worker.ts", env, (line) => line.includes("reads the queue"));
  return {
    address,
    setStream: (running) => void worker.process.kill(running ? "SIGCONT" : "SIGSTOP"),
    stop: async () => {
      await Promise.all([server.stop(), worker.stop("SIGKILL")]);
      await redis.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function install(directory: string): Promise<void> {
  const isSource = (path: string) => !/[/\\](node_modules|dist)$/.test(path);
  await cp(sources, directory, { recursive: true, filter: isSource });
  const { tarball } = await pack(directory);
  await npmInstall(directory, `./${tarball}`);
  // Its own types are checked first.
  await exec("npm", ["run", "build"], { cwd: directory });
}
