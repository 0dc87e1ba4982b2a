/** Other programs' processes that end with this one. */
import { once } from "node:events";
import { CommandFailed } from "./run.mjs";

/** Several times what any of them takes on a busy machine. */
const READY_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 120_000;

/** @typedef {import("node:child_process").ChildProcess} ChildProcess */

/**
 * Kills it when this process exits. `stop` asks it to end, kills it if it does not, and resolves when it has ended.
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
 * Resolves to what the pattern finds in its standard output. It is killed if it does not say that in time.
 * @param {ChildProcess} child
 * @param {string} name for errors
 * @param {RegExp} pattern
 * @returns {Promise<RegExpExecArray>}
 */
export async function untilItSays(child, name, pattern) {
  let said = "";
  const tooLate = setTimeout(() => child.kill("SIGKILL"), READY_WITHIN_MS);
  /** @type {Promise<RegExpExecArray>} */
  const found = new Promise((resolve, reject) => {
    child.stdout?.on("data", (/** @type {Buffer} */ chunk) => {
      said = (said + chunk.toString()).slice(-10_000);
      const match = pattern.exec(said);
      if (match !== null) resolve(match);
    });
    child.once("error", reject);
    child.once("exit", () => {
      reject(new CommandFailed(`${name} ended before it was ready:\n${said}`));
    });
  });
  return found.finally(() => {
    clearTimeout(tooLate);
  });
}
