/** The two servers as processes on a core of their own, and what Linux says of them. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { chainFlags, startService } from "../../../scripts/lib/service.mjs";
import { namespaceOf, recommended } from "../scale/chains.ts";
import { offer, type Answers, type Work } from "./load.ts";

export interface Turn extends Answers {
  /** Processor time of the server, with all its threads, for each request: microseconds. */
  readonly microseconds: number;
}

export interface Server {
  readonly url: string;
  /** Sends requests for a number of seconds, as fast as it answers. */
  ask(work: Work, seconds: number): Promise<Turn>;
  stop(): Promise<void>;
}

/** Keeps a program to the first core, where the system can: the others are for Redis and for who asks. */
const pinned: readonly string[] =
  spawnSync("taskset", ["--version"]).error === undefined ? ["taskset", "--cpu-list", "0"] : [];
export const isPinned = pinned.length > 0;

export function startRust(program: string, redisUrl: string): Promise<Server> {
  const settings = ["--namespace", namespaceOf("{user}"), "--log", "warn", "--redis", redisUrl];
  return start([program, ...chainFlags(recommended), ...settings]);
}

/** In the release of Node that runs this. */
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

/** Of user and system: proc(5), the fields 14 and 15 of `stat`. */
export function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
