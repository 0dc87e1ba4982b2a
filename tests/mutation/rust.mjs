/**
 * Tries mutants of Rust. All that are in functions are compiled into one program, where a variable of the environment
 * says which one runs; in it all tests are modules of the crate. What does not compile so, such as another constant,
 * is compiled alone. The tests that reach a mutant meet it: quick ones first, the simulation last.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { copyOfProject } from "./lists.mjs";
import { isInFunction, withMutants } from "./switched.mjs";

/** @typedef {import("./lists.mjs").Mutant} Mutant */
/** @typedef {import("./lists.mjs").Outcome} Outcome */
/** @typedef {{ level: string, rendered: string, spans: { file_name: string, line_start: number }[] }} Diagnostic */
/** Of cargo: a program that is ready, or what the compiler says. */
/** @typedef {{ executable?: string | null, message?: Diagnostic }} Message */
/** @typedef {{ program: string, mutants: readonly Mutant[] }} Together */
/** Tests, how many users the simulation has, and after how long they do not end. */
/** @typedef {{ tests: readonly string[], users: number, seconds: number }} Group */

/** Tests that take longer come after all others. */
const QUICK_SECONDS = 0.5;
/** What takes so many times as long as without a mutant does not end. */
const MOST_TIMES = 20;
/** What does not end takes memory meanwhile. */
const MOST_KIB = 4 << 20;
/** Users of the simulation: what the few do not notice, the many may. */
const [FEW_USERS, MANY_USERS] = [100, 600];
const SIMULATION = "simulation::";
/** The number of no mutant that a program chooses: it has none, or is one. */
const ALONE = -1;
/** Says whether a mutant runs, and writes down which test reached it. */
const SWITCH = `
pub(crate) fn mutant(number: usize) -> bool {
    use std::{cell::RefCell, env::var, io::Write, sync::OnceLock};
    static ACTIVE: OnceLock<Option<usize>> = OnceLock::new();
    static REACHED: OnceLock<Option<std::fs::File>> = OnceLock::new();
    std::thread_local!(static KNOWN: RefCell<Vec<bool>> = RefCell::default());
    let is_new = |known: &mut Vec<bool>| {
        known.resize(known.len().max(number + 1), false);
        !std::mem::replace(&mut known[number], true)
    };
    let open = || std::fs::File::create(var("SEENGUARD_REACHED").ok()?).ok();
    if let Some(mut file) = REACHED.get_or_init(open).as_ref() {
        if KNOWN.with_borrow_mut(is_new) {
            let test = std::thread::current();
            _ = file.write_all(format!("{number} {}\\n", test.name().unwrap_or_default()).as_bytes());
        }
    }
    *ACTIVE.get_or_init(|| var("SEENGUARD_MUTANT").ok()?.parse().ok()) == Some(number)
}
#[cfg(test)]
extern crate self as seenguard;
// The simulation finds it there.
#[cfg(test)]
#[path = "../tests/common/random.rs"]
mod random;`;

/**
 * @param {readonly Mutant[]} mutants
 * @param {(mutant: Mutant, outcome: Outcome) => void} report
 */
export function tryRust(mutants, report) {
  const copy = new Copy(mutants);
  const together = copy.compileTogether();
  const alone = mutants.filter((mutant) => !together.mutants.includes(mutant));
  console.log(`${String(together.mutants.length)} mutants in one program, ${String(alone.length)} alone`);
  const groupsOf = copy.testsThatReach(together.program);
  together.mutants.forEach((mutant, number) => {
    report(mutant, copy.outcomeOf(together.program, number, groupsOf(mutant, number)));
  });
  for (const mutant of alone) {
    const { program, errors } = copy.compile((file, source) =>
      file === mutant.file ? source.replace(mutant.from, () => mutant.to) : source,
    );
    const error = errors[0]?.rendered.split("\n")[0] ?? "";
    if (program === undefined) report(mutant, { problem: `does not compile: ${error}` });
    else report(mutant, copy.outcomeOf(program, ALONE, groupsOf(mutant, ALONE)));
  }
}

/** A copy of the project whose tests are modules of the crate. */
class Copy {
  /** @param {readonly Mutant[]} mutants */
  constructor(mutants) {
    this.mutants = mutants;
    this.directory = copyOfProject("rust");
    const files = readdirSync(this.#path("tests")).filter((name) => {
      // A program has one allocator: tests with one of their own stay out.
      return /^(?!web_).*\.rs$/.test(name) && !this.#read(join("tests", name)).includes("#[global_allocator]");
    });
    const modules = files.map((name) => `#[path = "${name}"] mod ${name.replace(".rs", "")};`);
    const tests = ["#[cfg(test)]", '#[path = "../tests"]', "mod integration {", ...modules, "}"];
    appendFileSync(this.#path("src/lib.rs"), [SWITCH, ...tests].join("\n"));
    /** As they are without mutants. */
    this.sources = new Map(mutants.map(({ file }) => [file, this.#read(file)]));
  }

  /** @param {string} file */
  #path(file) {
    return join(this.directory, file);
  }

  /** @param {string} file */
  #read(file) {
    return readFileSync(this.#path(file), "utf8");
  }

  /**
   * All of the mutants that compile in one program.
   * @param {readonly Mutant[]} mutants
   * @returns {Together}
   */
  compileTogether(mutants = this.mutants.filter((mutant) => isInFunction(this.#sourceOf(mutant), mutant))) {
    const linesOf = /** @type {Map<string, (readonly Mutant[] | undefined)[]>} */ (new Map());
    const { program, errors } = this.compile((file, source) => {
      const ofFile = mutants.filter((mutant) => mutant.file === file);
      const { text, lines } = withMutants(source, ofFile, (mutant) => mutants.indexOf(mutant));
      linesOf.set(file, lines);
      return text;
    });
    if (program !== undefined) return { program, mutants };
    const spans = errors.flatMap(({ spans }) => spans);
    const bad = new Set(
      spans.flatMap(({ file_name, line_start }) => linesOf.get(normalize(file_name))?.[line_start] ?? []),
    );
    const others = mutants.filter((mutant) => !bad.has(mutant));
    if (others.length < mutants.length) return this.compileTogether(others);
    throw new Error(`the project does not compile: ${errors.map(({ rendered }) => rendered).join("\n")}`);
  }

  /** @param {Mutant} mutant */
  #sourceOf({ file }) {
    return this.sources.get(file) ?? "";
  }

  /**
   * The program with all tests, or why there is none.
   * @param {(file: string, source: string) => string} change
   * @returns {{ program?: string, errors: Diagnostic[] }}
   */
  compile(change) {
    for (const [file, source] of this.sources) {
      const text = change(file, source);
      if (this.#read(file) !== text) writeFileSync(this.#path(file), text);
    }
    const { stdout } = this.#cargo("test", "--lib", "--no-run", "--message-format=json", "--package", "seenguard");
    const lines = stdout.split("\n").filter(Boolean);
    const messages = /** @type {Message[]} */ (JSON.parse(`[${lines.join()}]`));
    const errors = messages.flatMap(({ message }) => (message?.level === "error" ? [message] : []));
    const program = messages.find(({ executable }) => executable)?.executable;
    return errors.length > 0 || !program ? { errors } : { program, errors };
  }

  /** @param {...string} args */
  #cargo(...args) {
    return spawnSync("cargo", args, {
      cwd: this.directory,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        ...process.env,
        // Not in the copy, which is removed by the next run.
        CARGO_TARGET_DIR: join(this.directory, "..", "cargo"),
        RUSTFLAGS: "-A warnings",
        CARGO_PROFILE_TEST_DEBUG: "0",
        CARGO_PROFILE_TEST_OPT_LEVEL: "1",
        CARGO_PROFILE_TEST_INCREMENTAL: "true",
      },
    });
  }

  /**
   * For each mutant, or one that is not in the program, the tests that may notice it, in the order of their trial.
   * @param {string} program
   */
  testsThatReach(program) {
    const file = this.#path("reached.txt");
    const { stdout, status } = this.#runTests(program, ["--report-time"], { SEENGUARD_REACHED: file });
    if (status !== 0) throw new Error(`a test fails without a mutant: ${stdout.slice(stdout.indexOf("failures:"))}`);
    const times = new Map(
      [...stdout.matchAll(/^test (\S+) .*<([\d.]+)s>/gm)].map(([, test = "", time]) => [test, Number(time)]),
    );
    const reaching = /** @type {Map<string, Set<string>>} */ (new Map());
    for (const line of readFileSync(file, "utf8").split("\n")) {
      const [number = "", test = ""] = line.split(" ");
      reaching.set(number, (reaching.get(number) ?? new Set()).add(test));
    }
    return (/** @type {Mutant} */ { by }, /** @type {number} */ number) => {
      const reached = reaching.get(String(number));
      const isOfSimulation = (/** @type {string} */ test) => titleOf(test).startsWith(SIMULATION);
      const isNamed = (/** @type {string} */ test) => reached?.has(test) ?? false;
      // The threads of the simulation have no names.
      const isReached = (/** @type {string} */ test) =>
        number === ALONE || isNamed(test) || (isNamed("") && isOfSimulation(test));
      const tests = [...times.keys()].filter(isReached);
      const isQuick = (/** @type {string} */ test) => (times.get(test) ?? 0) < QUICK_SECONDS;
      const groups = [
        // Whether it reaches the mutant or not: what is made once for all tests is reached by one of them.
        { tests: [...times.keys()].filter((test) => titleOf(test) === by), users: FEW_USERS },
        { tests: tests.filter(isQuick), users: FEW_USERS },
        { tests: tests.filter((test) => !isQuick(test)), users: FEW_USERS },
        { tests: tests.filter(isOfSimulation), users: MANY_USERS },
      ];
      return groups
        .filter(({ tests }) => tests.length > 0)
        .map(({ tests, users }) => {
          const seconds = tests.reduce((sum, test) => sum + (times.get(test) ?? 0), 1);
          return { tests, users, seconds: Math.ceil((seconds * MOST_TIMES * users) / FEW_USERS) };
        });
    };
  }

  /**
   * @param {string} program
   * @param {number} number of the mutant in the program
   * @param {readonly Group[]} groups
   * @returns {Outcome}
   */
  outcomeOf(program, number, groups) {
    for (const { tests, users, seconds } of groups) {
      // One after the other: what is named last is what does not end.
      const args = ["--fail-fast", "--test-threads", "1", "--exact", ...tests];
      const env = { SEENGUARD_MUTANT: String(number), SEENGUARD_USERS: String(users) };
      const { stdout, status } = this.#runTests(program, args, env, seconds * 1000);
      if (status === 0) continue;
      const [, failed] = /^test (\S+) .*FAILED/m.exec(stdout) ?? [];
      return { by: titleOf(failed ?? [...stdout.matchAll(/^test (\S+)/gm)].at(-1)?.[1] ?? "") };
    }
    return { problem: groups.length === 0 ? "survives: no test reaches it" : "survives" };
  }

  /**
   * @param {string} program
   * @param {readonly string[]} args
   * @param {Record<string, string>} env
   * @param {number} [timeout]
   */
  #runTests(program, args, env, timeout) {
    const limited = `ulimit -v ${String(MOST_KIB)}; exec "$0" "$@"`;
    return spawnSync("sh", ["-c", limited, program, "-Zunstable-options", ...args], {
      cwd: this.directory,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      timeout,
      // Without the first variable a stable compiler's tests refuse `--fail-fast`.
      env: { ...process.env, RUSTC_BOOTSTRAP: "1", SEENGUARD_USERS: String(FEW_USERS), ...env },
    });
  }
}

/** A test as it is called in its own program. @param {string} test */
const titleOf = (test) => test.replace(/^integration::/, "");
