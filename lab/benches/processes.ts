/** The memory of processes, from Linux. */
import { readdirSync, readFileSync } from "node:fs";

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
