/**
 * Runs steps side by side, each in a process of its own. What a step prints is shown when it ends, so that no two are
 * mixed up; a step that runs by itself prints at once.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { processorSeconds } from "../lib/processes.mjs";
import { withProgress } from "../lib/run.mjs";
import { mostSeconds } from "./unchanged.mjs";

/** @typedef {import("./steps.mjs").Step} Step */

/**
 * @typedef {object} Outcome
 * @property {string} name
 * @property {"passed" | "failed" | "skipped"} result
 * @property {number} seconds
 * @property {number} [processor] how many seconds of a processor it has used
 * @property {string} [reason] why it failed or was skipped
 * @property {string} [said] what it printed, if it failed
 */

/** A step has failed that uses a processor this many times as long as it ever has here, but no less than 5 minutes. */
const LIMIT_TIMES = 3;
const LEAST_LIMIT_S = 5 * 60;
/** The limit of a step that this machine does not know: more than any takes. */
const UNKNOWN_LIMIT_S = 45 * 60;

/** One that says nothing for so long, and uses a processor for less than a second, hangs. */
const SILENT_MS = 3 * 60_000;
const SILENT_S = 1;

const WATCH_MS = 5_000;

/** Tests wait about as long as they compute: two cores have work for three steps, and leave time for one that is low. */
const MOST_AT_ONCE = 3;

/** What is done so soon begins first. */
const SOON_S = 5;

/**
 * The steps in the order in which they should begin: what others need, what is soon done, then what takes longest.
 * @param {readonly Step[]} steps
 */
const inOrder = (steps) => {
  const rank = (/** @type {Step} */ { name, makesFiles }) => {
    const seconds = mostSeconds(name) ?? Infinity;
    return makesFiles || seconds < SOON_S ? -Infinity : -seconds;
  };
  return steps.toSorted((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
};

/**
 * Runs each step as soon as it may: what it needs has ended, nothing else of its lane runs, and earlier steps go first.
 * @param {readonly Step[]} steps
 * @param {(step: Step) => Promise<Outcome>} runOne
 * @returns {Promise<Outcome[]>} in the order of the steps
 */
export async function runSideBySide(steps, runOne) {
  const waiting = new Set(inOrder(steps));
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
 * The first step that may run next to those that run.
 * @param {readonly Step[]} waiting
 * @param {readonly Step[]} running
 */
function nextOf(waiting, running) {
  const others = running.filter(({ low }) => !low).length;
  const hasRoom = (/** @type {Step} */ { low }) => (low ? running.length <= MOST_AT_ONCE : others < MOST_AT_ONCE);
  const unfinished = new Set([...waiting, ...running].map(({ name }) => name));
  return waiting.find((step) => {
    const { lane, needs = [] } = step;
    const isFree = lane === undefined || !running.some((other) => other.lane === lane);
    return hasRoom(step) && isFree && !needs.some((name) => unfinished.has(name));
  });
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
export async function runStep({ name, what, low }, { atOnce, chosen }) {
  const started = Date.now();
  const title = `\n━━━ ${name}: ${what}\n`;
  if (atOnce) process.stdout.write(title);
  const { code, said } = await (atOnce
    ? execute(name, chosen, { atOnce, low: low === true })
    : withProgress(name, () => execute(name, chosen, { atOnce, low: low === true })));
  const seconds = (Date.now() - started) / 1000;
  const result = code === 0 ? "passed" : "failed";
  process.stdout.write(`${atOnce ? "" : title + said}━━━ ${name}: ${result} after ${seconds.toFixed(1)} s\n`);
  const processor = /^processor: ([\d.]+) s$/m.exec(said)?.[1];
  return {
    name,
    result,
    seconds,
    ...(processor === undefined ? {} : { processor: Number(processor) }),
    ...(code === 0 ? {} : { reason: /^failed: (.*)$/m.exec(said)?.[1] ?? "", said }),
  };
}

/**
 * In a process group of its own, so that whatever it has started ends with it: when it hangs, and when we end.
 * @param {string} name
 * @param {readonly string[]} chosen
 * @param {{ atOnce: boolean, low: boolean }} options
 * @returns {Promise<{ code: number | null, said: string }>}
 */
function execute(name, chosen, { atOnce, low }) {
  return new Promise((resolve, reject) => {
    const script = fileURLToPath(new URL("step.mjs", import.meta.url));
    const args = [script, name, chosen.join(",")];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
    let said = "";
    const add = (/** @type {string} */ text) => {
      said += text;
      if (atOnce) process.stdout.write(text);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", add);
    const kill = () => killGroup(child);
    process.once("exit", kill);
    const isOver = limitOf(name, low);
    const watch = setInterval(() => {
      const reason = isOver(child.pid === undefined ? undefined : processorSeconds(child.pid), said.length);
      if (reason === undefined) return;
      clearInterval(watch);
      add(`failed: killed, since it ${reason}\n`);
      kill();
    }, WATCH_MS);
    child.once("error", reject);
    child.once("close", (code) => {
      clearInterval(watch);
      process.removeListener("exit", kill);
      resolve({ code, said });
    });
  });
}

/**
 * Says of a running step why it must end, if it must.
 * @param {string} name
 * @param {boolean} low others may leave it no processor for long
 * @returns {(seconds: number | undefined, characters: number) => string | undefined} how long it has used a processor,
 *   where the system says that, and how much it has printed
 */
export function limitOf(name, low) {
  const most = mostSeconds(name);
  const limit = most === undefined ? UNKNOWN_LIMIT_S : Math.max(LEAST_LIMIT_S, LIMIT_TIMES * most);
  const least = low ? 0 : SILENT_S;
  let active = { at: Date.now(), seconds: 0, characters: 0 };
  // Where the system does not say it, the clock counts.
  return (seconds = active.seconds + (Date.now() - active.at) / 1000, characters) => {
    if (seconds > limit) return `has used a processor for more than ${limit.toFixed(0)} s`;
    // It is less than before when a part of it has ended that no other part has waited for.
    if (Math.abs(seconds - active.seconds) > least || characters > active.characters)
      active = { at: Date.now(), seconds, characters };
    return Date.now() - active.at > SILENT_MS ? "has neither said nor done anything for 3 minutes" : undefined;
  };
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
