/** What was measured and where, in words that let a reader compare it with their own. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { arch, cpus, loadavg, release, totalmem, type } from "node:os";
import { inProject } from "../../scripts/lib/paths.mjs";

/** "Commit 1a2b3c4d on a virtual machine, …"; with what makes its times longer than need be. */
export const describeRun = (): string => `Commit ${describeCommit()} on a ${describeMachine()}${describeLoad()}`;

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

/** What to say if the machine had much else to do; ratios suffer less than times. */
function describeLoad(): string {
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
