/**
 * The product of examples/news as its team has it: a copy where nothing of this repository is in reach, with the packed
 * package installed, built by its own script, over a real Redis, with server and worker in processes of their own.
 */
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inProject } from "../../scripts/lib/paths.mjs";
import { buildService, startService } from "../../scripts/lib/service.mjs";
import { startProgram, startRedis } from "../demo/processes.ts";
import { npmInstall, pack } from "../packaging/pack.ts";

const exec = promisify(execFile);
const sources = inProject("examples", "news");

export interface Product {
  readonly address: string;
  /** Whether what devices report is recorded, or waits. */
  readonly setStream: (running: boolean) => void;
  stop(): Promise<void>;
}

/** What makes its pages: `redisStore`, or the service in Rust. */
export type Server = "node" | "rust";

/** The file of the product that says where what readers have seen is kept. */
const OVER_RUST = `
import { Redis } from "ioredis";
import { ServiceClient } from "./client.ts";

export const redis = new Redis(process.env.REDIS_URL ?? "");
export const seen = new ServiceClient(process.env.SEENGUARD_URL ?? "");
`;

export async function startProduct(server: Server = "node"): Promise<Product> {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-news-"));
  await install(directory, server);
  const redis = await startRedis();
  const options = ["--redis", redis.url, "--namespace", "{user}", "--log", "warn"];
  const service = server === "rust" ? await startService(await buildService(), options) : undefined;
  const env = { REDIS_URL: redis.url, SEENGUARD_URL: service?.url ?? "", PORT: "0" };
  let address = "";
  const web = await startProgram(directory, "server/web.ts", env, (line) => {
    address = /^http:\/\/\S+/.exec(line)?.[0] ?? "";
    return address !== "";
  });
  const worker = await startProgram(directory, "server/worker.ts", env, (line) => line.includes("takes messages"));
  return {
    address,
    setStream: (running) => void worker.process.kill(running ? "SIGCONT" : "SIGSTOP"),
    stop: async () => {
      await Promise.all([web.stop(), worker.stop("SIGKILL")]);
      await service?.stop();
      await redis.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function install(directory: string, server: Server): Promise<void> {
  const isSource = (path: string) => !/[/\\](node_modules|dist)$/.test(path);
  await cp(sources, directory, { recursive: true, filter: isSource });
  if (server === "rust") {
    await cp(inProject("www", "server", "rust", "client.ts"), join(directory, "server", "client.ts"));
    await writeFile(join(directory, "server", "redis.ts"), OVER_RUST);
  }
  const { tarball } = await pack(directory);
  await npmInstall(directory, `./${tarball}`);
  // Its own types are checked first.
  await exec("npm", ["run", "build"], { cwd: directory });
}
