/** What was measured and where, in words that let a reader compare it with their own; and the memory of processes. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { arch, cpus, release, totalmem, type } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { inProject } from "../../scripts/lib/paths.mjs";

/** Of looking what else the machine does, and the share of its processors from which it is mentioned. */
const SAMPLE_MS = 2_000;
const MENTIONED = 0.1;

/** "On a virtual machine, …; commit 1a2b3c4d", in lines that fit into a document. For before anything is measured. */
export async function describeRun(): Promise<string> {
  return `On a ${describeMachine()};\ncommit ${describeCommit()}${await describeOtherWork()}`;
}

/** The commit that is checked out, and whether something that is measured was changed since. */
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

/** Resident bytes of a process and all that it has started; 0 where the system does not tell. */
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

/** 0 if it has ended meanwhile. */
function parentOf(pid: string): number {
  return Number(read(`/proc/${pid}/status`, /^PPid:\s+(\d+)/m));
}

/** Of a process alone; 0 where the system does not tell, or it has just ended. */
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
