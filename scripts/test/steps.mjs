/**
 * The steps of `npm test`, in their order: the quick ones that read the source first, then Rust, then what needs the
 * built package. It is read before anything is installed: what needs an npm package runs in a process of its own.
 */
import { readdirSync, readFileSync } from "node:fs";
import { build } from "../build.mjs";
import { programs } from "../lib/programs.mjs";
import { CommandFailed, output, run, runAndRead } from "../lib/run.mjs";
import { pathWith, wasmPack, wasmTarget, wasmTestRunner } from "../lib/rust.mjs";
import { inProject } from "../lib/paths.mjs";
import { modules } from "../build/wasm.mjs";
import { checkInstructions } from "./instructions.mjs";
import { checkLines } from "./lines.mjs";
import { checkPublish } from "./publish.mjs";
import { checkSizes } from "./sizes.mjs";

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} what
 * @property {() => void | Promise<void>} run fails when the step has
 * @property {true} [slow] it runs only with --all
 */

/** @param {...string} args */
const cargo = (...args) => run("cargo", args);

/**
 * A command of one of the npm packages, without asking npm.
 * @param {string} path in node_modules
 * @param {...string} args
 */
const npmTool = (path, ...args) => run(process.execPath, [inProject("node_modules", ...path.split("/")), ...args]);

/** @param {...string} args */
const vitest = (...args) => npmTool("vitest/vitest.mjs", "run", ...args);

/** @param {...string} args */
const playwright = (...args) => npmTool("@playwright/test/cli.js", "test", ...args);

/**
 * Runs the test programs that are for Wasm alone: the others would be compiled for nothing. That none ran is no
 * success.
 * @param {...string} args
 */
async function wasmTests(...args) {
  const programs = readdirSync(inProject("tests")).filter(
    (name) =>
      name.endsWith(".rs") &&
      readFileSync(inProject("tests", name), "utf8").includes('#![cfg(target_arch = "wasm32")]'),
  );
  const chosen = programs.flatMap((name) => ["--test", name.replace(/\.rs$/, "")]);
  if (chosen.length === 0) throw new CommandFailed("no file in tests/ is for wasm32 alone");
  // Its tools are on PATH: it must not look for others.
  const env = await pathWith([wasmPack, wasmTestRunner]);
  const said = await runAndRead("wasm-pack", ["test", "--mode", "no-install", ...args, "--", ...chosen], { env });
  const passed = [...said.matchAll(/^test result: .*?(\d+) passed/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
  if (passed === 0) throw new CommandFailed("wasm-pack ran no test");
}

async function cargoTests() {
  await cargo("test", "--no-fail-fast");
  await cargo("test", "--no-fail-fast", "--examples");
  for (const file of readdirSync(inProject("examples")).filter((name) => name.endsWith(".rs"))) {
    await cargo("run", "--quiet", "--example", file.replace(/\.rs$/, ""));
  }
}

/** Runs the programs whose tables and plots are in docs/. */
async function checkLab() {
  for (const program of ["policies", "effect"]) {
    await cargo("run", "--quiet", "--release", "--example", program, "--", "--check");
  }
}

/** A server's build of the crate has nothing of the browser in it. */
async function coreWithoutWasm() {
  const tree = await output("cargo", ["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
  if (tree === undefined) throw new CommandFailed("cargo tree failed");
  console.log(tree);
  const browser = tree.split("\n").filter((line) => /^(wasm-bindgen|js-sys|web-sys|serde-wasm-bindgen)/.test(line));
  if (browser.length > 0) throw new CommandFailed(`the core depends on ${browser.join(", ")}`);
}

const denyWarnings = ["--", "-D", "warnings"];

async function clippy() {
  await cargo("clippy", "--workspace", "--all-targets", ...denyWarnings);
  await cargo("clippy", "--lib", "--tests", "--target", wasmTarget, ...denyWarnings);
  // And on the modules that have a part of it.
  for (const { features } of modules) {
    const part = ["--no-default-features", "--features", features];
    await cargo("clippy", "--lib", ...part, "--target", wasmTarget, ...denyWarnings);
  }
}

async function documentation() {
  const env = { RUSTDOCFLAGS: "-D warnings" };
  await run("cargo", ["doc", "--no-deps"], { env });
  await run("cargo", ["doc", "--no-deps", "--target", wasmTarget], { env });
}

/** The package's own types, then tests, demo and scripts. */
async function types() {
  await npmTool("typescript/bin/tsc", "--project", "js");
  await npmTool("typescript/bin/tsc", "--project", ".");
}

const sources = ["js", "cli", "www", "scripts"];
const dependencyCruiser = "dependency-cruiser/bin/dependency-cruise.mjs";

/** @type {readonly Step[]} */
export const steps = [
  { name: "fmt", what: "Rust is formatted", run: () => cargo("fmt", "--all", "--check") },
  { name: "clippy", what: "Rust's linter: native, as Wasm, and each module of the package", run: clippy },
  { name: "lines", what: "lines of 120 columns, files of 400 lines", run: checkLines },
  { name: "core", what: "the core builds without any crate of the browser", run: coreWithoutWasm },
  { name: "cargo", what: "Rust's tests, its documentation's examples, and the programs in examples/", run: cargoTests },
  {
    name: "lab",
    what: "the programs in examples/ that measure find what docs/ holds",
    run: checkLab,
    slow: true,
  },
  { name: "rustdoc", what: "Rust's documentation has no broken links, native and for Wasm", run: documentation },
  { name: "instructions", what: "the hot path takes no more instructions than before", run: checkInstructions },
  { name: "wasm-node", what: "the Wasm classes in Node", run: () => wasmTests("--node") },
  {
    name: "wasm-chromium",
    what: "the Wasm classes in Chromium",
    run: () => wasmTests("--headless", "--chrome", "--chromedriver", programs.chromedriver.find() ?? "chromedriver"),
  },
  { name: "build", what: "the package is built", run: () => build() },
  { name: "sizes", what: "the package is no larger than recorded", run: checkSizes },
  {
    name: "toolchain",
    what: "the module as wasm-pack makes it, and as JavaScript by wasm2js",
    run: () => vitest("--project", "toolchain"),
  },
  {
    name: "prettier",
    what: "everything else is formatted",
    run: () => npmTool("prettier/bin/prettier.cjs", "--check", "."),
  },
  {
    name: "eslint",
    what: "TypeScript's linter",
    run: () => npmTool("eslint/bin/eslint.js", "--max-warnings", "0", "."),
  },
  {
    name: "imports",
    what: "no circle of imports in TypeScript, and none over the package's border",
    run: () => npmTool(dependencyCruiser, ...sources),
  },
  { name: "tsc", what: "TypeScript's types: the package's own, then tests, demo and scripts", run: types },
  { name: "types", what: "the published declarations keep their contract", run: () => vitest("--project", "types") },
  { name: "vitest", what: "the package and the demo's server in Node", run: () => vitest("--project", "node") },
  {
    name: "vitest-js-engine",
    what: "the guard in Node on the JavaScript engine",
    run: () => vitest("--project", "node-js-engine"),
  },
  {
    name: "conditions",
    what: "the package in Node when things go wrong",
    run: () => vitest("--project", "conditions"),
  },
  {
    name: "servers",
    what: "servers in other languages, with the real libraries, and what docs/other-languages.md shows of them",
    run: () => vitest("--project", "servers"),
  },
  {
    name: "cluster",
    what: "the store on a Redis Cluster, while consumers are killed and a slot is migrated",
    run: () => vitest("--project", "cluster"),
    slow: true,
  },
  {
    name: "flink",
    what: "the job in examples/flink on a cluster whose TaskManagers are killed",
    run: () => vitest("--project", "flink", "--reporter", "verbose"),
    slow: true,
  },
  { name: "packaging", what: "the packed package in real little apps", run: () => vitest("--project", "packaging") },
  {
    name: "publish",
    what: "the registries of npm and Rust would take the package, and warn of nothing",
    run: checkPublish,
    slow: true,
  },
  {
    name: "platforms",
    what: "the packed package in an app of each bundler, framework, test runner and runtime",
    run: () => vitest("--project", "platforms", "--reporter", "verbose"),
    slow: true,
  },
  { name: "browser", what: "the package in Chromium", run: () => playwright("--project", "package") },
  {
    name: "browser-conditions",
    what: "the package in Chromium when things go wrong",
    run: () => playwright("--project", "conditions"),
    slow: true,
  },
  {
    name: "adapters",
    what: "the adapters for React, Vue and Svelte, in jsdom and in an app each in Chromium",
    run: async () => {
      await vitest("--project", "adapters");
      await playwright("--project", "adapters");
    },
    slow: true,
  },
  {
    name: "capacitor",
    what: "the package over Capacitor's Preferences",
    run: () => playwright("--project", "capacitor"),
  },
  {
    name: "demo",
    what: "the demo in Chromium, as a person uses it",
    run: () => playwright("--project", "demo"),
    slow: true,
  },
  {
    name: "news",
    what: "a news product on the packed package in Chromium, as a reader uses it",
    run: () => playwright("--project", "news"),
    slow: true,
  },
  {
    name: "engines",
    what: "the package in Firefox, WebKitGTK and Hermes",
    run: () => vitest("--project", "engines"),
    slow: true,
  },
  {
    name: "soak",
    what: "the demo's server under load and kills, then two browsers over 15 virtual days",
    run: () => run(process.execPath, ["--import", "tsx", inProject("tests", "soak", "main.ts"), "step"]),
    slow: true,
  },
  {
    name: "fuzz",
    what: "the fuzz targets over their corpus, a minute each",
    run: () => run(process.execPath, [inProject("fuzz", "run.mjs"), "--seconds", "70"]),
    slow: true,
  },
];
