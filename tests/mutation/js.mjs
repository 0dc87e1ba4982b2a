/**
 * Tries mutants of js/. Each is built into the package in a copy of the project, and meets the test that caught it
 * last, then all tests of the package: in Node first, then in Chromium.
 */
import { spawn } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inProject } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { copyOfProject } from "./lists.mjs";

/** @typedef {import("./lists.mjs").Mutant} Mutant */
/** @typedef {import("./lists.mjs").Outcome} Outcome */
/** Of a program: isEndless if it had to be ended. */
/** @typedef {{ output: string, isSuccess: boolean, isEndless: boolean }} Ended */

/** A test that waits for what never comes. A busy machine is given its time. */
const TEST_SECONDS = 60;
/** What takes so long does not end: the tests of a file, and those of a stage. */
const [FILE_SECONDS, STAGE_SECONDS] = [240, 1200];

/** @param {...string} args */
const vitest = (...args) => {
  const limits = ["--testTimeout", "--hookTimeout"].map((name) => `${name}=${String(TEST_SECONDS * 1000)}`);
  return ["node_modules/vitest/vitest.mjs", "run", "--bail", "1", ...limits, ...args];
};

/** @param {...string} args */
const playwright = (...args) => ["node_modules/@playwright/test/cli.js", "test", "--max-failures", "1", ...args];

/** All tests that may notice a mutant, quick ones first. */
const STAGES = [
  vitest("--project", "node"),
  vitest("--project", "conditions", "--project", "adapters", "--project", "processes"),
  playwright("--project", "package", "--project", "panel"),
  playwright("--project", "conditions", "--project", "adapters", "--project", "capacitor"),
  vitest("--project", "node-js-engine", "--project", "programs", "--project", "cluster"),
];

/** The command for the tests of one file. @param {string} file */
const commandFor = (file) =>
  file.endsWith(".spec.ts") ? playwright(file) : vitest("--project", "!node-js-engine", file);

/** @param {string} by */
const fileOf = (by) => by.split(" > ")[0] ?? by;

/**
 * @param {readonly Mutant[]} mutants
 * @param {(mutant: Mutant, outcome: Outcome) => void} report
 */
export async function tryJs(mutants, report) {
  await run(process.execPath, [inProject("scripts", "build.mjs")]);
  const copy = new Copy();
  for (const mutant of mutants) report(mutant, await copy.outcomeOf(mutant));
}

/** A copy of the project with its own dist/. */
class Copy {
  /** Files of tests that pass without a mutant. @type {Set<string>} */
  #trusted = new Set();

  constructor() {
    this.directory = copyOfProject("js");
    for (const built of ["dist", "js/generated"]) {
      cpSync(inProject(built), join(this.directory, built), { recursive: true });
    }
  }

  /**
   * @param {Mutant} mutant
   * @returns {Promise<Outcome>}
   */
  async outcomeOf({ file, from, to, by }) {
    const path = join(this.directory, file);
    const source = readFileSync(path, "utf8");
    writeFileSync(
      path,
      source.replace(from, () => to),
    );
    const built = await this.#bundle();
    const outcome = built.isSuccess ? await this.#tested(by) : { problem: `does not build: ${built.output.trim()}` };
    writeFileSync(path, source);
    if ("by" in outcome) await this.#trust(fileOf(outcome.by));
    return outcome;
  }

  /**
   * @param {string | undefined} by
   * @returns {Promise<Outcome>}
   */
  async #tested(by) {
    if (by !== undefined) {
      const { output, isSuccess, isEndless } = await this.#node(commandFor(fileOf(by)), FILE_SECONDS);
      if (isEndless) return { by: `${fileOf(by)} > does not end` };
      if (!isSuccess) return { by: failureIn(output) };
    }
    for (const args of STAGES) {
      const { output, isSuccess, isEndless } = await this.#node(args, STAGE_SECONDS);
      // Vitest does not tell which test it is in.
      if (isEndless) return { problem: "does not end: name the file of a test that reaches it in `by`" };
      if (!isSuccess) return { by: failureIn(output) };
    }
    return { problem: "survives" };
  }

  /** Fails if a test that caught a mutant fails without one. @param {string} file */
  async #trust(file) {
    if (this.#trusted.has(file)) return;
    await this.#bundle();
    const { output, isSuccess } = await this.#node(commandFor(file), FILE_SECONDS);
    if (!isSuccess) throw new Error(`${file} fails without a mutant:\n${output}`);
    this.#trusted.add(file);
  }

  #bundle() {
    const bundle = 'const { bundle } = await import("./scripts/build/bundle.mjs"); await bundle();';
    return this.#node(["--input-type=module", "--eval", bundle], FILE_SECONDS);
  }

  /**
   * Runs Node in the copy, and ends it with all that it has started if that takes too long.
   * @param {readonly string[]} args
   * @param {number} seconds
   * @returns {Promise<Ended>}
   */
  #node(args, seconds) {
    return new Promise((resolve, reject) => {
      const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined, CI: "1" };
      const child = spawn(process.execPath, args, {
        cwd: this.directory,
        env,
        stdio: ["ignore", "pipe", "pipe"],
        // A group of its own, which can be ended.
        detached: true,
      });
      let output = "";
      let isEndless = false;
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => (output += text));
      }
      const end = (/** @type {NodeJS.Signals} */ signal) => {
        isEndless = true;
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      };
      // Playwright takes its browsers with it if it is asked to go.
      const timers = [
        setTimeout(() => end("SIGTERM"), seconds * 1000),
        setTimeout(() => end("SIGKILL"), (seconds + 30) * 1000),
      ];
      // A server of a test, in a group of its own, may hold what it writes to.
      child.once("exit", () => {
        if (isEndless) for (const stream of [child.stdout, child.stderr]) stream.destroy();
      });
      child.once("error", reject).once("close", (code) => {
        timers.forEach(clearTimeout);
        resolve({ output, isSuccess: code === 0, isEndless });
      });
    });
  }
}

/** Which test failed, as the list names it. @param {string} output of Vitest or Playwright */
function failureIn(output) {
  const [, file, title] =
    /^ FAIL {2}(?:\|[^|]+\| )?(\S+\.test\.tsx?)(?: > (.+))?/m.exec(output) ??
    /^ +1\) \[[\w-]+\] › (\S+\.spec\.ts):\d+:\d+ › (.+?)(?: ─+)?$/m.exec(output) ??
    /originated in "(\S+\.test\.tsx?)"/.exec(output) ??
    [];
  if (file === undefined) throw new Error(`no test is said to have failed:\n${output}`);
  return title === undefined ? file : `${file} > ${title.replaceAll(" › ", " > ")}`;
}
