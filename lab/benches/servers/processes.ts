/** The two servers as processes on one core each, and their processor time and memory. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { chainFlags, startService } from "../../../scripts/lib/service.mjs";
import { namespaceOf, recommended } from "../scale/chains.ts";
import { offer, type Answers, type Work } from "./load.ts";

export interface Turn extends Answers {
  /** The processor time of all the server's threads for each request, in microseconds. */
  readonly microseconds: number;
}

export interface Server {
  readonly url: string;
  /** Sends requests for a number of seconds, as fast as possible. */
  ask(work: Work, seconds: number): Promise<Turn>;
  stop(): Promise<void>;
}

/** Pins a program to the first core, if the system supports it: the others are for Redis and the load generator. */
const pinned: readonly string[] =
  spawnSync("taskset", ["--version"]).error === undefined ? ["taskset", "--cpu-list", "0"] : [];
export const isPinned = pinned.length > 0;

export function startRust(program: string, redisUrl: string): Promise<Server> {
  const settings = ["--namespace", namespaceOf("{user}"), "--log", "warn", "--redis", redisUrl];
  return start([program, ...chainFlags(recommended), ...settings]);
}

/** Starts the server in the current release of Node. */
export function startNode(redisUrl: string): Promise<Server> {
  const program = inProject("lab", "benches", "servers", "node.ts");
  return start(["env", `REDIS_URL=${redisUrl}`, process.execPath, "--import", "tsx", program]);
}

async function start(command: readonly string[]): Promise<Server> {
  const [program = "", ...args] = [...pinned, ...command];
  const service = await startService(program, args);
  const pid = service.process.pid ?? 0;
  return {
    url: service.url,
    ask: async (work, seconds) => {
      const before = processorSeconds(pid);
      const answers = await offer(service.url, work, { duration: seconds });
      return { ...answers, microseconds: ((processorSeconds(pid) - before) * 1e6) / answers.requests };
    },
    stop: () => service.stop(),
  };
}

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** User and system time of a process: the fields 14 and 15 of `stat` in proc(5). */
export function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
