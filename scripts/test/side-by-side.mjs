/**
 * Runs steps side by side, each in a process of its own. What a step prints is shown when it ends, so that no two are
 * mixed up; a step that runs by itself prints at once.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { withProgress } from "../lib/progress.mjs";

/** @typedef {import("./steps.mjs").Step} Step */

/**
 * @typedef {object} Outcome
 * @property {string} name
 * @property {"passed" | "failed" | "skipped"} result
 * @property {number} seconds
 * @property {string} [processor] how many seconds of a processor it has used
 * @property {string} [reason] why it failed or was skipped
 * @property {string} [said] what it printed, if it failed
 */

/** Several times what any step takes: one whose processes hang has failed. */
const LIMIT_MS = 25 * 60_000;

/** Tests in browsers wait about as long as they compute, so two cores have work for three steps. */
const MOST_AT_ONCE = 3;

/**
 * Runs each step as soon as it may: what it needs has ended, nothing else of its lane runs, and earlier steps go first.
 * @param {readonly Step[]} steps
 * @param {(step: Step) => Promise<Outcome>} runOne
 * @returns {Promise<Outcome[]>} in the order of the steps
 */
export async function runSideBySide(steps, runOne) {
  const waiting = new Set(steps);
  /** @type {Map<Step, Promise<void>>} */
  const running = new Map();
  /** @type {Map<string, Outcome>} by the step's name */
  const outcomes = new Map();
  /** @param {Step} step */
  const start = async (step) => {
    const failed = step.needs?.find((name) => outcomes.get(name)?.result === "failed");
    const reason = `not run, since ${failed ?? ""} failed`;
    const outcome = failed === undefined ? await runOne(step) : notRun(step, reason);
    outcomes.set(step.name, outcome);
    running.delete(step);
  };
  while (waiting.size + running.size > 0) {
    const next = nextOf([...waiting], [...running.keys()]);
    if (next === undefined) {
      await Promise.race(running.values());
    } else {
      waiting.delete(next);
      // Begun once it is in `running`: a step that is not run leaves it before anything is awaited.
      running.set(next, Promise.resolve(next).then(start));
    }
  }
  return steps.flatMap(({ name }) => outcomes.get(name) ?? []);
}

/**
 * The first step that may run beside those that run.
 * @param {readonly Step[]} waiting
 * @param {readonly Step[]} running
 */
function nextOf(waiting, running) {
  if (running.length >= MOST_AT_ONCE || running.some(({ alone }) => alone)) return undefined;
  const unfinished = new Set([...waiting, ...running].map(({ name }) => name));
  return waiting.find(
    ({ alone, lane, needs = [] }) =>
      !(alone && running.length > 0) &&
      !(lane && running.some((other) => other.lane === lane)) &&
      !needs.some((name) => unfinished.has(name)),
  );
}

/**
 * @param {Step} step
 * @param {string} reason
 * @returns {Outcome}
 */
const notRun = ({ name }, reason) => ({ name, result: "failed", seconds: 0, reason });

/**
 * Runs a step in a process of its own.
 * @param {Step} step
 * @param {{ atOnce: boolean, chosen: readonly string[] }} options atOnce: whether its output is shown while it runs;
 *   chosen: the names of all steps of this run
 * @returns {Promise<Outcome>}
 */
export async function runStep({ name, what }, { atOnce, chosen }) {
  const started = Date.now();
  const title = `\n━━━ ${name}: ${what}\n`;
  if (atOnce) process.stdout.write(title);
  const { code, said } = await (atOnce
    ? execute(name, chosen, true)
    : withProgress(name, () => execute(name, chosen, false)));
  const seconds = (Date.now() - started) / 1000;
  const result = code === 0 ? "passed" : "failed";
  process.stdout.write(`${atOnce ? "" : title + said}━━━ ${name}: ${result} after ${seconds.toFixed(1)} s\n`);
  const processor = /^processor: ([\d.]+) s$/m.exec(said)?.[1] ?? "";
  return {
    name,
    result,
    seconds,
    processor,
    ...(code === 0 ? {} : { reason: /^failed: (.*)$/m.exec(said)?.[1] ?? "", said }),
  };
}

/**
 * In a process group of its own, so that whatever it has started ends with it: when it hangs, and when we end.
 * @param {string} name
 * @param {readonly string[]} chosen
 * @param {boolean} atOnce
 * @returns {Promise<{ code: number | null, said: string }>}
 */
function execute(name, chosen, atOnce) {
  return new Promise((resolve, reject) => {
    const script = fileURLToPath(new URL("step.mjs", import.meta.url));
    const args = [script, name, chosen.join(",")];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
    let said = "";
    const take = (/** @type {string} */ text) => {
      said += text;
      if (atOnce) process.stdout.write(text);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", take);
    const kill = () => killGroup(child);
    process.once("exit", kill);
    const tooLate = setTimeout(() => {
      take(`failed: killed, since it did not end within ${String(LIMIT_MS / 60_000)} minutes\n`);
      kill();
    }, LIMIT_MS);
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(tooLate);
      process.removeListener("exit", kill);
      resolve({ code, said });
    });
  });
}

/** @param {import("node:child_process").ChildProcess} child */
function killGroup(child) {
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
