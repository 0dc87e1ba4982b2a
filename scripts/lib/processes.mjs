/** Child processes that end with this one, free ports for them, and the load of the machine. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { cpus } from "node:os";
import { readIfThere } from "./files.mjs";
import { CommandFailed } from "./run.mjs";

/** The timeout until a process is ready, several times the longest start on a busy machine. */
const READY_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 120_000;

/** @typedef {import("node:child_process").ChildProcess} ChildProcess */

/**
 * Makes a child process end when this process exits. `stop` sends a signal, kills the process if it does not end, and
 * resolves when it has ended.
 * @param {ChildProcess} child
 * @returns {{ ended: Promise<unknown>, stop: (signal?: NodeJS.Signals) => Promise<void> }}
 */
export function endWithUs(child) {
  const endAtOnce = () => child.kill("SIGKILL");
  process.once("exit", endAtOnce);
  const ended = once(child, "exit").finally(() => process.removeListener("exit", endAtOnce));
  const stop = async (/** @type {NodeJS.Signals} */ signal = "SIGTERM") => {
    const tooLate = setTimeout(endAtOnce, STOPPED_WITHIN_MS);
    child.kill(signal);
    await ended.finally(() => {
      clearTimeout(tooLate);
    });
  };
  return { ended, stop };
}

/**
 * Resolves to the first match of a pattern in a child's standard output. Kills the child after a timeout.
 * @param {ChildProcess} child
 * @param {string} name for errors
 * @param {RegExp} pattern
 * @returns {Promise<RegExpExecArray>}
 */
export async function waitForOutput(child, name, pattern) {
  let output = "";
  const tooLate = setTimeout(() => child.kill("SIGKILL"), READY_WITHIN_MS);
  /** @type {Promise<RegExpExecArray>} */
  const found = new Promise((resolve, reject) => {
    child.stdout?.on("data", (/** @type {Buffer} */ chunk) => {
      output = (output + chunk.toString()).slice(-10_000);
      const match = pattern.exec(output);
      if (match !== null) resolve(match);
    });
    child.once("error", reject);
    child.once("exit", () => {
      reject(new CommandFailed(`${name} ended before it was ready:\n${output}`));
    });
  });
  return found.finally(() => {
    clearTimeout(tooLate);
  });
}

/**
 * Returns the processor time of a process and its descendants, in seconds; `undefined` if the system has no /proc.
 * @param {number} pid
 */
export function processorSeconds(pid) {
  if (statOf("self") === undefined) return undefined;
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(name) ?? []);
  const family = new Set([pid]);
  // A child has a higher id than its parent, unless ids have wrapped around: then another pass finds it.
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const { id, parent, group } of processes) if (family.has(parent) || group === pid) family.add(id);
  }
  return processes.reduce((sum, { id, seconds }) => (family.has(id) ? sum + seconds : sum), 0);
}

/**
 * Returns the fields of proc(5) for a process: its time includes that of the processes it has waited for.
 * @param {number | string} pid
 * @returns {{ id: number, parent: number, group: number, seconds: number } | undefined}
 */
export function statOf(pid) {
  const stat = readIfThere(`/proc/${String(pid)}/stat`)?.toString();
  if (stat === undefined) return undefined;
  // The program's name in parentheses may contain spaces.
  const fields = stat
    .replace(/^.*\) /s, "")
    .split(" ")
    .map(Number);
  const [, parent = 0, group = 0] = fields;
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + field, 0);
  return { id: Number(stat.split(" ")[0]), parent, group, seconds: ticks / TICKS_PER_SECOND };
}

/** The unit of processor times, the same on all current architectures of Linux. */
const TICKS_PER_SECOND = 100;

/** Returns the times of all processors together since boot, in ms. */
function processorTimes() {
  const all = cpus().map(({ times }) => times);
  const idle = all.reduce((sum, each) => sum + each.idle, 0);
  return { idle, sum: all.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle) };
}

/**
 * Measures the idle time of the processors from now on.
 * @returns {() => number} the share so far, from 0 to 1
 */
export function measureIdle() {
  const start = processorTimes();
  return () => {
    const now = processorTimes();
    return (now.idle - start.idle) / Math.max(1, now.sum - start.sum);
  };
}

/** The first port to try, below the ephemeral range: a port in that might be used before its server starts. */
const FIRST_PORT = 11_000;
const PORTS = 21_000;
const MOST_ATTEMPTS = 100;

/** @returns {Promise<number>} a free port of the loopback */
export async function freePort() {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const port = FIRST_PORT + randomInt(PORTS);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error(`none of ${String(MOST_ATTEMPTS)} ports of the loopback is free`);
}
