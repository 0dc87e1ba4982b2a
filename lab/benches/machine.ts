/** A description of the commit and the machine for the tables; and the memory of processes. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { arch, cpus, release, totalmem, type } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { inProject } from "../../scripts/lib/paths.mjs";

/** The time in which other load is sampled, and the share of the processors from which it is mentioned. */
const SAMPLE_MS = 2_000;
const MENTIONED = 0.1;

/** Returns "On a virtual machine, …; commit 1a2b3c4d", wrapped. To be called before the measurement. */
export async function describeRun(): Promise<string> {
  return `On a ${describeMachine()};\ncommit ${describeCommit()}${await describeOtherWork()}`;
}

/** The current commit, and whether measured code has uncommitted changes. */
function describeCommit(): string {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: inProject("."), encoding: "utf8" }).trim();
  const changes = git("status", "--porcelain", "--untracked-files=no", "--", "src", "js", "server", "lab/benches");
  return git("rev-parse", "--short=8", "HEAD") + (changes === "" ? "" : " with changes");
}

function describeMachine(): string {
  const [first] = cpus();
  const kind = first?.model.replace(/\((R|TM)\)/g, "").trim() ?? "unknown processor";
  const memory = `${String(Math.round(totalmem() / 2 ** 30))} GB`;
  const virtual = /\bhypervisor\b/.test(cpuFlags()) ? "virtual machine, " : "";
  return `${virtual}${String(cpus().length)} cores of ${kind} (${arch()}), ${memory}, ${systemName()}`;
}

async function describeOtherWork(): Promise<string> {
  const before = processorTimes();
  await pause(SAMPLE_MS);
  const after = processorTimes();
  const busy = 1 - (after.idle - before.idle) / (after.all - before.all);
  return busy < MENTIONED ? "" : `, next to other work (${(100 * busy).toFixed(0)}% of the processors)`;
}

/** Milliseconds of all processors since the system started. */
function processorTimes(): { idle: number; all: number } {
  const times = cpus().map((one) => one.times);
  const idle = times.reduce((sum, time) => sum + time.idle, 0);
  const all = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle);
  return { idle, all };
}

function cpuFlags(): string {
  try {
    return readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    return "";
  }
}

function systemName(): string {
  try {
    const name = /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
    if (name !== undefined) return name;
  } catch {
    // Only Linux has this file.
  }
  return `${type()} ${release()}`;
}

/** Resident bytes of a process and its descendants; 0 if the system does not report them. */
export function residentBytesOf(root: number): number {
  const parents = new Map<number, number>();
  try {
    for (const name of readdirSync("/proc")) if (/^\d+$/.test(name)) parents.set(Number(name), parentOf(name));
  } catch {
    return 0;
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid === root || (pid !== undefined && pid > 1 && isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow).reduce((sum, pid) => sum + residentBytes(pid), 0);
}

/** The parent's id; 0 if the process has ended meanwhile. */
function parentOf(pid: string): number {
  return Number(read(`/proc/${pid}/status`, /^PPid:\s+(\d+)/m));
}

/** Resident bytes of one process; 0 if the system does not report them, or it has ended. */
export function residentBytes(pid: number | undefined): number {
  return 1024 * Number(read(`/proc/${String(pid)}/status`, /^VmRSS:\s+(\d+)/m));
}

function read(path: string, pattern: RegExp): string {
  try {
    return pattern.exec(readFileSync(path, "utf8"))?.[1] ?? "0";
  } catch {
    return "0";
  }
}
