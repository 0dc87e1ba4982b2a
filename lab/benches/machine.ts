/** The machine that measured, in words that let a reader compare it with their own. */
import { readFileSync } from "node:fs";
import { arch, cpus, loadavg, release, totalmem, type } from "node:os";

export function describeMachine(): string {
  const [first] = cpus();
  const kind = first?.model.replace(/\((R|TM)\)/g, "").trim() ?? "unknown processor";
  const memory = `${String(Math.round(totalmem() / 2 ** 30))} GB`;
  const virtual = /\bhypervisor\b/.test(cpuFlags()) ? "virtual machine, " : "";
  return `${virtual}${String(cpus().length)} cores of ${kind} (${arch()}), ${memory}, ${systemName()}`;
}

/** What to say if the machine had so much else to do that times are longer than need be; ratios suffer less. */
export function describeLoad(): string {
  const [lastMinute = 0] = loadavg();
  // One process at a time is the benchmark's own.
  return lastMinute < cpus().length + 1 ? "" : `, with other work on it (load ${lastMinute.toFixed(0)})`;
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
