/**
 * Tries a sample of the mutants that cargo-mutants finds in src/, outside of src/web, which is for wasm32 alone.
 *
 *     node tests/mutation/rust.mjs [text]    those whose name contains the text
 *
 * A copy of the project is compiled once with all of them: a function is followed by its mutants, and a variable of the
 * environment says which one runs. In the copy all tests are modules of the crate. A mutant that the quick tests do not
 * notice meets the slow ones, too, the simulation among them.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inProject } from "../../scripts/lib/paths.mjs";
import { sample } from "./sample.mjs";
import { withMutant, withMutants } from "./switched.mjs";

/** @typedef {import("./switched.mjs").Mutant} Mutant */
/** @typedef {{ level: string, rendered: string, spans: { file_name: string, line_start: number }[] }} Diagnostic */
/** Of cargo: a program that is ready, or what the compiler says. */
/** @typedef {{ executable?: string | null, message?: Diagnostic }} Message */

const COUNT = Number(process.env.SEENGUARD_MUTANTS ?? 300);
const COPIED = ["Cargo.toml", "Cargo.lock", "README.md", "src", "tests", "examples", "benches", "scripts/tools"];
/** Tests that take longer come after all others. */
const QUICK_SECONDS = 0.5;
/** A mutant that loops takes all of it. */
const SECONDS = 300;
/** Says whether a mutant runs, and writes down which test reached it. */
const SWITCH = `
pub(crate) fn mutant(number: usize) -> bool {
    use std::{cell::RefCell, collections::HashSet, env::var, io::Write, sync::OnceLock};
    static ACTIVE: OnceLock<Option<usize>> = OnceLock::new();
    static REACHED: OnceLock<Option<std::fs::File>> = OnceLock::new();
    std::thread_local!(static KNOWN: RefCell<HashSet<usize>> = RefCell::default());
    let open = || std::fs::File::create(var("SEENGUARD_REACHED").ok()?).ok();
    if let Some(mut file) = REACHED.get_or_init(open).as_ref() {
        if KNOWN.with(|known| known.borrow_mut().insert(number)) {
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

const listed = /** @type {Mutant[]} */ (
  JSON.parse(cargo(["mutants", "--list", "--json", "--package", "seenguard", "--exclude", "src/web/**"]).stdout)
);
const copy = process.env.SEENGUARD_MUTATION_DIRECTORY ?? inProject("target", "mutation");
rmSync(copy, { recursive: true, force: true });
for (const name of COPIED) cpSync(inProject(name), join(copy, name), { recursive: true });
const files = readdirSync(join(copy, "tests")).filter((name) => /^(?!web_).*\.rs$/.test(name));
const modules = files.map((name) => `#[path = "${name}"] mod ${name.replace(".rs", "")};`);
const tests = ["#[cfg(test)]", '#[path = "../tests"]', "mod integration {", ...modules, "}"];
appendFileSync(join(copy, "src/lib.rs"), [SWITCH, ...tests].join("\n"));
/** As they are without mutants. */
const sources = new Map(listed.map(({ file }) => [file, readFileSync(join(copy, file), "utf8")]));

const chosen = sample(listed, COUNT, ({ name }) => name.replace(/:\d+:\d+:/, ":")).filter(({ name }) =>
  name.includes(process.argv[2] ?? ""),
);
console.log(`${String(chosen.length)} of ${String(listed.length)} mutants`);

const together = compiledTogether(chosen.filter((mutant) => mutant.function !== null));
const reaching = testsThatReach(together.program);
together.mutants.forEach((mutant, number) => {
  report(mutant, resultOf(together.program, number, reaching(number)));
});
for (const mutant of chosen.filter((mutant) => !together.mutants.includes(mutant))) {
  const { program } = compiled((file, source) => (file === mutant.file ? withMutant(source, mutant) : source));
  report(mutant, program === undefined ? "does not compile" : resultOf(program, 0, [[]]));
}

/** @param {Mutant} mutant @param {string} result */
function report({ name }, result) {
  console.log(`${result} | ${name}`);
}

/**
 * All of the mutants that compile in one program; the others may still do so alone.
 * @param {readonly Mutant[]} mutants
 * @returns {{ program: string, mutants: readonly Mutant[] }}
 */
function compiledTogether(mutants) {
  /** @type {Map<string, (Mutant | undefined)[]>} */
  const linesOf = new Map();
  const { program, errors } = compiled((file, source) => {
    const ofFile = mutants.filter((mutant) => mutant.file === file);
    const { text, lines } = withMutants(source, ofFile, (mutant) => mutants.indexOf(mutant));
    linesOf.set(file, lines);
    return text;
  });
  if (program !== undefined) return { program, mutants };
  const spans = errors.flatMap(({ spans }) => spans);
  const bad = new Set(spans.map(({ file_name, line_start }) => linesOf.get(file_name)?.[line_start]));
  const others = mutants.filter((mutant) => !bad.has(mutant));
  if (others.length < mutants.length) return compiledTogether(others);
  throw new Error(`the project does not compile: ${errors.map(({ rendered }) => rendered).join("\n")}`);
}

/**
 * The program with all tests, or why there is none.
 * @param {(file: string, source: string) => string} change
 * @returns {{ program?: string, errors: Diagnostic[] }}
 */
function compiled(change) {
  for (const [file, source] of sources) {
    const text = change(file, source);
    if (readFileSync(join(copy, file), "utf8") !== text) writeFileSync(join(copy, file), text);
  }
  const { stdout } = cargo(["test", "--lib", "--no-run", "--message-format=json", "--package", "seenguard"]);
  const lines = stdout.split("\n").filter(Boolean);
  const messages = /** @type {Message[]} */ (JSON.parse(`[${lines.join()}]`));
  const errors = messages.flatMap(({ message }) => (message?.level === "error" ? [message] : []));
  const program = messages.find(({ executable }) => executable)?.executable;
  return errors.length > 0 || !program ? { errors } : { program, errors };
}

/**
 * For each number of a mutant the tests that reach it, quick ones first.
 * @param {string} program
 */
function testsThatReach(program) {
  const file = join(copy, "reached.txt");
  const { stdout, status } = spawnTests(program, ["--report-time"], { SEENGUARD_REACHED: file });
  if (status !== 0) throw new Error(`a test fails without a mutant: ${stdout.slice(stdout.indexOf("failures:"))}`);
  const times = new Map(
    [...stdout.matchAll(/^test (\S+) .*<([\d.]+)s>/gm)].map(([, test, time]) => [test, Number(time)]),
  );
  /** @type {Map<number, string[]>} */
  const reaching = new Map();
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const [number, test = ""] = line.split(" ");
    if (times.has(test)) reaching.set(Number(number), [...(reaching.get(Number(number)) ?? []), test]);
  }
  const isQuick = (/** @type {string} */ test) => (times.get(test) ?? 0) < QUICK_SECONDS;
  return (/** @type {number} */ number) => {
    const tests = reaching.get(number) ?? [];
    return [tests.filter(isQuick), tests.filter((test) => !isQuick(test))].filter(({ length }) => length > 0);
  };
}

/**
 * Which test fails first, or that none does.
 * @param {string} program
 * @param {number} number
 * @param {string[][]} groups of tests
 */
function resultOf(program, number, groups) {
  for (const tests of groups) {
    const { stdout, error, status } = spawnTests(program, ["--fail-fast", "--exact", ...tests], {
      SEENGUARD_MUTANT: String(number),
    });
    if (error) return "does not end";
    if (status !== 0) return /^test (\S+) .*FAILED/m.exec(stdout)?.[1] ?? `ends with ${String(status)}`;
  }
  return groups.length === 0 ? "not reached" : "survives";
}

/**
 * @param {string} program
 * @param {string[]} options
 * @param {Record<string, string>} env
 */
function spawnTests(program, options, env) {
  return spawnSync(program, ["-Zunstable-options", ...options], {
    cwd: copy,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    timeout: "SEENGUARD_MUTANT" in env ? SECONDS * 1000 : undefined,
    // Without the first variable a stable compiler's tests refuse `--fail-fast`.
    env: { ...process.env, RUSTC_BOOTSTRAP: "1", SEENGUARD_USERS: "100", ...env },
  });
}

/** @param {string[]} args */
function cargo(args) {
  return spawnSync("cargo", args, {
    cwd: args[0] === "mutants" ? inProject() : copy,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      RUSTFLAGS: "-A warnings",
      CARGO_PROFILE_TEST_DEBUG: "0",
      CARGO_PROFILE_TEST_OPT_LEVEL: "1",
      CARGO_PROFILE_TEST_INCREMENTAL: "true",
    },
  });
}
