/**
 * The steps of `npm test`. They begin in this order, as soon as they may: what many others need first, then what takes
 * long, as far as this machine does not know how long. It is read before anything is installed: what needs an npm
 * package runs in a process of its own.
 */
import { readdirSync, readFileSync } from "node:fs";
import { build } from "../build.mjs";
import { programs } from "../lib/programs.mjs";
import { CommandFailed, output, run, runAndRead } from "../lib/run.mjs";
import { pathWith, wasmBindgenTool, wasmPack, wasmTarget, wasmTestRunner } from "../lib/rust.mjs";
import { inProject } from "../lib/paths.mjs";
import { kafka, prepareService, preparedService, serviceTests } from "../lib/service.mjs";
import { compileModules, modules } from "../build/wasm.mjs";
import { releasePrograms } from "../release.mjs";
import { checkInstructions } from "./instructions.mjs";
import { checkPublish } from "./publish.mjs";
import { checkRelease } from "./release.mjs";
import { checkRustImports } from "./rust-imports.mjs";
import { checkSizes } from "./sizes.mjs";
import { checkWords } from "./words.mjs";

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string} what
 * @property {() => void | Promise<void>} run fails when the step has
 * @property {true} [slow] it runs only with --all
 * @property {true} [byName] it runs only if `--only` names it: it takes long, or finds what it finds by chance
 * @property {RegExp} [reads] which files of the project it reads; without it any
 * @property {readonly import("../lib/programs.mjs").Program[]} [programs] of the system that it runs, besides the compiler
 * @property {readonly import("../lib/rust.mjs").CargoTool[]} [tools] that it runs
 * @property {true} [python] whether it runs packages of Python
 * @property {true} [broker] whether it runs a Kafka broker
 * @property {readonly string[]} [needs] steps that must have passed; and the build, which others wait for, goes first
 * @property {string} [lane] no two steps of one lane run side by side: those that wait for one lock of cargo or compile
 *   what another's documentation examples link to, or that would have two browsers run at once
 * @property {true} [low] it computes and nothing else, and nothing waits for it but what needs it: it has the time that
 *   the others leave, by the lowest priority
 * @property {true} [makesFiles] others need what it makes, so it is never skipped
 * @property {Readonly<Record<string, string>>} [gives] environment variables of the steps that need it
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
export const vitest = (...args) => npmTool("vitest/vitest.mjs", "run", ...args);

/** @param {...string} args */
export const playwright = (...args) => npmTool("@playwright/test/cli.js", "test", ...args);

/** @param {...string} args */
const soak = (...args) => run(process.execPath, ["--import", "tsx", inProject("lab", "soak", "main.ts"), ...args]);

/** The test programs that are for Wasm alone. */
function wasmTestFiles() {
  const files = readdirSync(inProject("tests")).filter(
    (name) =>
      name.endsWith(".rs") &&
      readFileSync(inProject("tests", name), "utf8").includes('#![cfg(target_arch = "wasm32")]'),
  );
  if (files.length === 0) throw new CommandFailed("no file in tests/ is for wasm32 alone");
  return files.map((name) => name.replace(/\.rs$/, ""));
}

/**
 * Runs the test programs that are for Wasm alone: the others would be compiled for nothing. A run without any
 * fails.
 * @param {...string} args
 */
async function wasmTests(...args) {
  const chosen = wasmTestFiles().flatMap((name) => ["--test", name]);
  // Its tools are on PATH: it must not look for others. Compiled for speed, these tests would take longer in all.
  const env = { ...(await pathWith([wasmPack, wasmTestRunner])), CARGO_PROFILE_TEST_OPT_LEVEL: "0" };
  const said = await runAndRead("wasm-pack", ["test", "--mode", "no-install", ...args, "--", ...chosen], { env });
  const passed = [...said.matchAll(/^test result: .*?(\d+) passed/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
  if (passed === 0) throw new CommandFailed("wasm-pack ran no test");
}

/** Users of the simulation: they meet every situation that a run must have met. */
const USERS = "300";

async function cargoTests() {
  await run("cargo", ["test", "--no-fail-fast"], { env: { SEENGUARD_USERS: USERS } });
}

const ofTheLab = ["--profile", "lab", "--package", "seenguard-lab"];

/** The members but the service: their lints, the lab's own tests, and what `docs/` holds of its programs. */
async function checkLab() {
  const others = ["--exclude", "seenguard", "--exclude", "seenguard-server"];
  await cargo("clippy", "--profile", "lab", "--workspace", ...others, "--all-targets", ...denyWarnings);
  await cargo("test", ...ofTheLab);
  await cargo("run", "--quiet", ...ofTheLab, "--bin", "effect", "--", "--check");
}

/** The member in server/. */
async function checkServer() {
  await cargo("test", "--no-fail-fast", ...serviceTests);
  await cargo("clippy", "--all-targets", ...serviceTests, ...denyWarnings);
  // As it is released, without what tests need; and its library as those compile it who want stores alone, or consumers
  // without a service. `publish` compiles it with `axum` alone.
  const lint = ["clippy", "--package", "seenguard-server"];
  await cargo(...lint, "--bins", "--features", kafka, ...denyWarnings);
  for (const features of ["", "consumer,formats"])
    await cargo(...lint, "--lib", "--no-default-features", "--features", features, ...denyWarnings);
  await run("cargo", ["doc", "--no-deps", ...serviceTests], { env: { RUSTDOCFLAGS: "-D warnings" } });
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
  await cargo("clippy", "--all-targets", ...denyWarnings);
  const wasmOnly = wasmTestFiles().flatMap((name) => ["--test", name]);
  // By the profile of `modules`, which has compiled the macros for it.
  const asWasm = ["clippy", "--release", "--target", wasmTarget, "--lib"];
  await cargo(...asWasm, ...wasmOnly, ...denyWarnings);
  // And as the modules are compiled. Without any feature it is part of the service, whose step checks that.
  for (const { features } of modules)
    await cargo(...asWasm, "--no-default-features", "--features", features, ...denyWarnings);
}

async function documentation() {
  const env = { RUSTDOCFLAGS: "-D warnings" };
  await run("cargo", ["doc", "--no-deps"], { env });
  await run("cargo", ["doc", "--no-deps", "--target", wasmTarget], { env });
}

/** The package's own types, then those of the demo's handler without Node, of tests, demo and scripts. */
async function types() {
  for (const project of ["js", "www/alone", "."]) {
    const incremental = ["--incremental", "--tsBuildInfoFile", `target/tsc/${project.replace("/", "-")}.json`];
    await npmTool("typescript/bin/tsc", "--project", project, ...incremental);
  }
}

/** The formatter's own cache, which knows files by their content. */
const cache = ["--cache", "--cache-strategy", "content", "--cache-location", "target/prettier"];

const rust = /^(src|tests\/(.*\.rs$|vectors))|^(README|CHANGELOG|docs\/.*)\.md$|^rustfmt\.toml$/;
/** The package and its tests in Rust for wasm32. */
const rustForWasm = /^(src|tests\/(.*\.rs$|vectors))/;
const allRust = /\.(rs|toml)$/;
const javaScript = /\.(d\.)?([cm]?[jt]s|tsx|json)$/;
/** The package as it is built, and the tests. */
const packageAndTests = /^(js|src|scripts\/build|tests)\/|^[^/]*\.(ts|json|toml)$/;

const { chromium, firefox, go, java, jre, kcat, librdkafka, maven, python, redis, valgrind } = programs;
const webkit = [programs.webkitDriver, programs.webkitBrowser, programs.xvfb, programs.xauth];
const otherServers = [go, programs.goBloom, programs.goXxhash, java, programs.guava, programs.lz4];

/** At the top of its host, and below it. */
async function site() {
  const build = inProject("scripts", "site", "build.mjs");
  await run(process.execPath, [build, "/", inProject("target", "site")]);
  await run(process.execPath, [build, "/x/", inProject("target", "site-below")]);
  await playwright("--project", "site");
}

/** @type {readonly Step[]} */
export const steps = [
  // Soon done.
  { name: "fmt", what: "Rust is formatted", run: () => cargo("fmt", "--all", "--check"), reads: allRust },
  { name: "words", what: "no word that only this project understands is added", run: () => checkWords() },
  {
    name: "imports",
    what: "no circle of imports in Rust, and none over a border: the compiler does not look",
    run: checkRustImports,
    reads: /^src\//,
  },
  {
    name: "modules",
    what: "the crate is compiled to Wasm",
    run: () => compileModules(),
    lane: "cargo",
    makesFiles: true,
  },
  {
    name: "build",
    what: "the package is built",
    run: () => build(),
    tools: [wasmBindgenTool],
    needs: ["modules"],
    makesFiles: true,
  },
  // One after the other: the crate alone, compiled in between, has other features, and both would be compiled again.
  {
    name: "service-program",
    what: "the service is compiled, for all steps that run it",
    run: prepareService,
    gives: { SEENGUARD_SERVICE: preparedService },
    programs: [librdkafka],
    lane: "cargo",
    slow: true,
    makesFiles: true,
  },
  {
    name: "server",
    what: "the stores in Rust and the service, over memory, Redis and a cluster, while consumers are killed",
    run: checkServer,
    programs: [librdkafka, redis],
    reads: /^(src|server)\/|^rustfmt\.toml$/,
    needs: ["service-program"],
    lane: "cargo",
    slow: true,
  },
  {
    name: "cargo",
    what: "Rust's tests, its documentation's examples, 300 users of the simulation",
    run: cargoTests,
    reads: rust,
    lane: "cargo",
  },
  // One browser after the other, longest first.
  {
    name: "demo",
    what: "the demo in Chromium, as a person uses it",
    run: () => playwright("--project", "demo"),
    programs: [chromium],
    needs: ["build"],
    lane: "browser",
    slow: true,
  },
  {
    name: "service",
    what: "the demo over seenguard-server in Chromium: over Redis, Kafka and Flink",
    run: () => playwright("--project", "service"),
    programs: [chromium, java, jre, librdkafka, maven, python, redis],
    python: true,
    broker: true,
    needs: ["build", "service-program"],
    lane: "browser",
    slow: true,
  },
  {
    name: "chromium",
    what: "the package in Chromium",
    run: () => playwright("--project", "chromium"),
    programs: [chromium],
    reads: packageAndTests,
    needs: ["build"],
    lane: "browser",
  },
  {
    name: "chromium-slow",
    what: "the package in Chromium when things go wrong, the panel, the engine as JavaScript, the largest snapshot",
    run: () => playwright("--project", "slow"),
    programs: [chromium],
    needs: ["build"],
    lane: "browser",
    slow: true,
  },
  {
    name: "news",
    what: "a news product on the packed package in Chromium, as a reader uses it",
    run: () => playwright("--project", "news"),
    programs: [chromium, redis],
    needs: ["build"],
    lane: "browser",
    slow: true,
  },
  {
    name: "hooks",
    what: "the adapters for React, Vue and Svelte, in jsdom and in an app each in Chromium",
    run: async () => {
      await vitest("--project", "hooks");
      await playwright("--project", "hooks");
    },
    programs: [chromium],
    needs: ["build"],
    lane: "browser",
    slow: true,
  },
  {
    name: "shells",
    what: "an app with Capacitor and Ionic over Capacitor's bridges, in Chromium and WebKitGTK, killed and stopped",
    run: () => playwright("--project", "shells"),
    programs: [chromium, ...webkit],
    needs: ["build"],
    lane: "browser",
    slow: true,
  },
  {
    name: "site",
    what: "the documentation's site in Chromium: links, accessibility, the demo in the page alone",
    run: site,
    programs: [chromium],
    needs: ["build"],
    lane: "browser",
    slow: true,
  },
  {
    name: "oxlint",
    what: "TypeScript's linter, with types, and which file may import which",
    run: () => npmTool("oxlint/bin/oxlint"),
    reads: javaScript,
    needs: ["build"],
  },
  {
    name: "node",
    what: "the package and the demo's server in Node",
    run: () => vitest("--project", "node"),
    programs: [chromium, redis],
    needs: ["build"],
  },
  {
    name: "tsc",
    what: "TypeScript's types: the package's own, which match its declarations, then tests, demo and scripts",
    run: types,
    needs: ["build"],
  },
  {
    name: "clippy",
    what: "Rust's linter: native, as Wasm, and each module of the package",
    run: clippy,
    reads: allRust,
    lane: "cargo",
  },
  {
    name: "rustdoc",
    what: "Rust's documentation has no broken links, native and for Wasm",
    run: documentation,
    reads: rust,
    lane: "cargo",
  },
  {
    name: "core",
    what: "the core builds without any crate of the browser",
    run: coreWithoutWasm,
    reads: /^Cargo/,
    lane: "cargo",
  },
  { name: "sizes", what: "each part of the package keeps its budget", run: checkSizes, needs: ["build"] },
  {
    name: "prettier",
    what: "everything else is formatted",
    run: () => npmTool("prettier/bin/prettier.cjs", "--check", ...cache, "."),
    needs: ["build"],
  },
  {
    name: "programs",
    what: "programs made at random against the API",
    run: () => vitest("--project", "programs"),
    needs: ["build"],
  },
  // From here on all are slow, or run by their names alone.
  {
    name: "bundlers",
    what: "the packed package in an app of each bundler, framework, test runner and runtime",
    run: () => vitest("--project", "bundlers", "--reporter", "verbose"),
    programs: [chromium],
    needs: ["build"],
    slow: true,
  },
  {
    name: "flink",
    what: "the job in examples/flink between a Kafka broker and the service, killed and rescaled",
    run: () => vitest("--project", "flink", "--reporter", "verbose"),
    programs: [java, jre, kcat, librdkafka, maven, python, redis],
    python: true,
    broker: true,
    needs: ["build", "service-program"],
    slow: true,
  },
  {
    name: "lab",
    what: "the lab and the benchmarks in Rust, and what docs/ holds of them",
    run: checkLab,
    needs: ["build"],
    slow: true,
    low: true,
  },
  {
    name: "fuzz",
    what: "the fuzz targets over their corpus",
    run: () => run(process.execPath, [inProject("lab", "fuzz", "run.mjs")]),
    needs: ["build"],
    slow: true,
    low: true,
  },
  {
    name: "engines",
    what: "the package in Firefox, WebKitGTK and Hermes",
    run: () => vitest("--project", "engines"),
    programs: [firefox, ...webkit],
    needs: ["build"],
    slow: true,
  },
  {
    name: "node-slow",
    what: "the command, stores in Redis, outages and the documentation's examples, each in processes of its own",
    run: () => vitest("--project", "slow"),
    programs: [chromium, redis],
    needs: ["build"],
    slow: true,
  },
  {
    name: "packed",
    what: "the packed package in real little apps",
    run: () => vitest("--project", "packed"),
    programs: [chromium],
    needs: ["build"],
    slow: true,
  },
  {
    name: "cluster",
    what: "the store on a Redis Cluster, while consumers are killed and a slot is migrated",
    run: () => vitest("--project", "cluster"),
    programs: [redis],
    needs: ["build"],
    slow: true,
  },
  {
    name: "together",
    what: "the service in Rust and the store in Node serve the same users at the same time, and promise the same",
    run: () => vitest("--project", "together"),
    programs: [librdkafka, redis],
    needs: ["build", "service-program"],
    slow: true,
  },
  {
    name: "js-engine",
    what: "the guard and chains in Node on the JavaScript engine",
    run: () => vitest("--project", "js-engine"),
    programs: [chromium],
    reads: packageAndTests,
    needs: ["build"],
    slow: true,
  },
  {
    name: "languages",
    what: "servers in other languages, as docs/ shows them",
    run: () => vitest("--project", "languages"),
    programs: [...otherServers, librdkafka, python, redis],
    python: true,
    needs: ["build", "service-program"],
    slow: true,
  },
  {
    name: "kafka",
    what: "the service over a real Kafka broker that is killed and stopped; other languages; numbers and alerts",
    run: () => vitest("--project", "kafka"),
    programs: [go, java, jre, librdkafka, maven, programs.prometheus, programs.promtool, python, redis],
    python: true,
    broker: true,
    needs: ["build", "service-program"],
    slow: true,
  },
  {
    name: "instructions",
    what: "the hot path takes no more instructions than before",
    run: checkInstructions,
    programs: [valgrind],
    reads: allRust,
    needs: ["build"],
    slow: true,
    low: true,
  },
  {
    // With `--all` alone: compiling its tools takes half as long as all of `npm test`, whose other steps run the same
    // module in Node and Chromium.
    name: "wasm-node",
    what: "the Wasm classes in Node",
    run: () => wasmTests("--node"),
    tools: [wasmPack, wasmTestRunner],
    reads: rustForWasm,
    lane: "cargo",
    slow: true,
  },
  {
    name: "toolchain",
    what: "the module as wasm-pack makes it",
    run: () => vitest("--project", "toolchain"),
    tools: [wasmPack, wasmTestRunner],
    needs: ["build"],
    lane: "cargo",
    slow: true,
  },
  {
    name: "publish",
    what: "the registries would take the package and both crates, which an empty app can use",
    run: checkPublish,
    needs: ["build"],
    slow: true,
    low: true,
  },
  {
    name: "soak-minute",
    what: "the service under load for a minute, over Redis, a cluster and Kafka, while parts fail: 0 lost, 0 shown again",
    run: () => soak("service", "--minutes", "1", "--users", "150"),
    programs: [jre, kcat, librdkafka, maven, redis],
    broker: true,
    needs: ["build", "service-program"],
    slow: true,
  },
  {
    name: "release",
    what: "the static program, the Debian package and the OCI image, whose file system serves without anything else",
    run: checkRelease,
    programs: [...releasePrograms],
    lane: "cargo",
    byName: true,
  },
  {
    name: "soak",
    what: "two browsers over 2 virtual days",
    run: () => soak("browser", "--days", "2"),
    programs: [chromium, firefox],
    needs: ["build"],
    lane: "browser",
    byName: true,
  },
  {
    name: "tauri",
    what: "the app in examples/tauri on WebKitGTK: compiled, killed, with two windows and each of its stores",
    run: () => vitest("--project", "shells"),
    programs: [programs.webkitDriver, programs.webkitLibrary, programs.xauth, programs.xvfb],
    needs: ["build"],
    lane: "cargo",
    byName: true,
  },
];
