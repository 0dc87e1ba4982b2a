/** Runs other programs: with their output passed on, or taken in. */
import { execFile, spawn } from "node:child_process";
import { root } from "./paths.mjs";

/** A program that did not end well; its own output has said why. */
export class CommandFailed extends Error {}

/**
 * Runs a program, its output going where ours goes. Rejects unless it ends with 0.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ env?: Record<string, string | undefined>, cwd?: string, ticking?: string }} [options] `ticking`: what to call it while it says nothing itself; then the time that has passed is printed every 10 s
 * @returns {Promise<void>}
 */
export async function run(command, args, options = {}) {
  const stopTicking = options.ticking === undefined ? () => undefined : tick(options.ticking);
  try {
    await new Promise((resolve, reject) => {
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
        else
          reject(
            new CommandFailed(`${[command, ...args].join(" ")} ended with ${signal ?? `exit code ${String(code)}`}`),
          );
      });
    });
  } finally {
    stopTicking();
  }
}

/**
 * Runs a program and returns what it wrote to its standard output, trimmed; `undefined` if there is no such program or it failed.
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

/**
 * @param {string} what
 * @returns {() => void}
 */
function tick(what) {
  const started = Date.now();
  const timer = setInterval(() => {
    console.log(`  … ${what}: ${String(Math.round((Date.now() - started) / 1000))} s`);
  }, 10_000);
  return () => {
    clearInterval(timer);
  };
}
