/** Runs other programs, with their output passed on or read, and prints which are still running. */
import { execFile, spawn } from "node:child_process";
import { root } from "./paths.mjs";

/** The error of a program that failed; its own output has the reason. */
export class CommandFailed extends Error {}

/**
 * Runs a program with inherited output. Rejects unless it exits with 0.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ env?: Record<string, string | undefined>, cwd?: string }} [options]
 * @returns {Promise<void>}
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd ?? root,
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "inherit", "inherit"],
    });
    child.once("error", (error) => {
      reject(new CommandFailed(`${command} could not be started: ${error.message}`));
    });
    child.once("exit", (code, signal) => {
      if (code === 0) resolve(undefined);
      else reject(failure(command, args, code, signal));
    });
  });
}

/**
 * Like `run`, but resolves to the program's standard output, which is also printed.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ env?: Record<string, string | undefined> }} [options]
 * @returns {Promise<string>}
 */
export function runAndRead(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...options.env };
    const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => {
      text += chunk;
      process.stdout.write(chunk);
    });
    child.once("error", (error) => {
      reject(new CommandFailed(`${command} could not be started: ${error.message}`));
    });
    child.once("close", (code, signal) => {
      if (code === 0) resolve(text);
      else reject(failure(command, args, code, signal));
    });
  });
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {number | null} code
 * @param {NodeJS.Signals | null} signal
 */
function failure(command, args, code, signal) {
  return new CommandFailed(`${[command, ...args].join(" ")} ended with ${signal ?? `exit code ${String(code)}`}`);
}

/**
 * Runs a program. Resolves to its trimmed standard output; `undefined` if the program does not exist or failed.
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {Promise<string | undefined>}
 */
export function output(command, args) {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: root, maxBuffer: 1 << 26 }, (error, stdout) => {
      resolve(error ? undefined : stdout.trim());
    });
  });
}

const PROGRESS_INTERVAL_MS = 10_000;

/** The running work, with the times of its start. @type {Map<string, number>} */
const running = new Map();
/** @type {NodeJS.Timeout | undefined} */
let timer;

/**
 * Prints the running work every 10 s, so that a long silence does not look like a hang.
 * @template T
 * @param {string} label
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(label, work) {
  running.set(label, Date.now());
  timer ??= setInterval(printRunning, PROGRESS_INTERVAL_MS);
  try {
    return await work();
  } finally {
    running.delete(label);
    if (running.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }
}

function printRunning() {
  const lines = [...running].map(([label, start]) => `${label} (${String(Math.round((Date.now() - start) / 1000))} s)`);
  console.log(`  … ${lines.join(", ")}`);
}
