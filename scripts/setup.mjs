/**
 * Installs the tools that the project needs: `node scripts/setup.mjs [start]`.
 *
 * "start" installs the tools of the build and the demo; without it, also those of the tests. It uses only Node's own
 * modules, since no others may be installed yet. Installed tools are left alone silently. Programs of the system are
 * installed by apt on Debian as root; elsewhere it prints the missing ones and how to install them. Tools that cargo
 * builds go into the user's cache, never among the user's own.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { kafkaJars, kafkaPom } from "./lib/kafka.mjs";
import { npmCi } from "./lib/npm.mjs";
import { inProject, root, toolDirectory } from "./lib/paths.mjs";
import { programs, which } from "./lib/programs.mjs";
import { CommandFailed, output, run, withProgress } from "./lib/run.mjs";
import { findCargoTool, minimumRust, wasmBindgenTool, wasmPack, wasmTarget, wasmTestRunner } from "./lib/rust.mjs";
import { pythonEnvironment, pythonRequirements, pythonStamp } from "./lib/servers.mjs";

/**
 * Requirements in addition to those of the build.
 * @typedef {object} Needs
 * @property {readonly import("./lib/programs.mjs").Program[]} [programs] programs of the system
 * @property {readonly import("./lib/rust.mjs").CargoTool[]} [tools] tools that cargo builds
 * @property {true} [python] the packages of tests/service/languages/requirements.txt
 * @property {true} [broker] the jars of a Kafka broker
 */

/** The error of a set-up that needs manual steps. */
class Missing extends Error {}

/** @param {string} line */
const print = (line) => {
  console.log(`set-up: ${line}`);
};

/**
 * @param {Needs} [needs]
 * @param {() => Promise<void>} [meanwhile] work that needs only the compilers, and runs while the rest is installed
 */
export async function setUp(needs = {}, meanwhile) {
  await setUpCompilers();
  await systemPrograms(needs.programs ?? []);
  await Promise.all([npmCi(root, "the development dependencies"), cargoTool(wasmBindgenTool), meanwhile?.()]);
  for (const tool of needs.tools ?? []) await cargoTool(tool);
  if (needs.python) await pythonPackages();
  if (needs.broker) await brokerJars();
}

/** Installs Rust's compilers, native and to Wasm, and checks the version of Node. */
export async function setUpCompilers() {
  checkNode();
  await systemPrograms([programs.compiler]);
  await rustToolchain();
}

/** Installs Rust's linter and formatter. */
export async function setUpLinters() {
  const ending = process.platform === "win32" ? ".exe" : "";
  const sysroot = (await output("rustc", ["--print", "sysroot"])) ?? "";
  for (const [component, binary] of /** @type {const} */ ([
    ["clippy", "cargo-clippy"],
    ["rustfmt", "cargo-fmt"],
  ])) {
    if (existsSync(join(sysroot, "bin", binary + ending))) continue;
    await rustup(component, ["component", "add", component]);
  }
}

/**
 * Returns the requirements of the demo over the service. @param {{ redis: boolean, broker: boolean, flink: boolean }}
 * own which are started: a Redis, a Kafka broker, Flink
 * @returns {Needs}
 */
export const needsOfDemo = ({ redis, broker, flink }) => ({
  programs: [
    programs.librdkafka,
    ...(redis ? [programs.redis] : []),
    ...(broker ? [programs.jre, programs.maven] : []),
    // The job is compiled, and Flink's jars are in a Python package.
    ...(flink ? [programs.java, programs.jre, programs.maven, programs.python] : []),
  ],
  ...(broker && { broker }),
  ...(flink && { python: flink }),
});

function checkNode() {
  const { engines } = /** @type {{ engines: { node: string } }} */ (
    JSON.parse(readFileSync(inProject("package.json"), "utf8"))
  );
  const wanted = Number(/\d+/.exec(engines.node)?.[0]);
  if (Number(process.versions.node.split(".")[0]) < wanted) {
    throw new Missing(
      `Node ${String(wanted)} or newer is needed, and this is ${process.versions.node}: https://nodejs.org`,
    );
  }
}

/** @param {readonly import("./lib/programs.mjs").Program[]} wanted */
export const missingPrograms = (wanted) => wanted.filter((program) => program.find() === undefined);

/** @param {readonly import("./lib/programs.mjs").Program[]} wanted */
export async function systemPrograms(wanted) {
  let missing = missingPrograms(wanted);
  if (missing.length === 0) return;
  const packages = [...new Set(missing.flatMap((program) => program.apt.split(" ")))];
  if (isDebian() && process.getuid?.() === 0) {
    await aptInstall(packages);
    missing = missingPrograms(wanted);
    if (missing.length === 0) return;
  }
  const how = isDebian()
    ? `run as root: apt-get update && apt-get install ${packages.join(" ")}`
    : `install: ${missing.map((program) => program.elsewhere).join("; ")}`;
  throw new Missing(`this machine lacks the programs of Debian's ${packages.join(", ")}; ${how}`);
}

function isDebian() {
  try {
    return /^ID="?debian"?$/m.test(readFileSync("/etc/os-release", "utf8"));
  } catch {
    return false;
  }
}

/** @param {readonly string[]} packages */
async function aptInstall(packages) {
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  print(`installing by apt: ${packages.join(", ")}`);
  await run("apt-get", ["update", "--quiet"], { env });
  await run("apt-get", ["install", "--yes", "--quiet", "--no-install-recommends", ...packages], { env });
}

async function rustToolchain() {
  const version = /^rustc (\S+)/.exec((await output("rustc", ["--version"])) ?? "")?.[1];
  if (version === undefined || which("cargo") === undefined) {
    throw new Missing(`Rust ${minimumRust} or newer is needed, with rustup: https://rustup.rs`);
  }
  if (isOlder(version, minimumRust)) {
    throw new Missing(`Rust ${minimumRust} or newer is needed, and this is ${version}: rustup update stable`);
  }
  await rustTarget(wasmTarget);
}

/** Installs Rust's library for a platform. @param {string} target */
export async function rustTarget(target) {
  const sysroot = (await output("rustc", ["--print", "sysroot"])) ?? "";
  if (existsSync(join(sysroot, "lib", "rustlib", target))) return;
  await rustup(`Rust's ${target} target`, ["target", "add", target]);
}

/**
 * Installs a part of Rust by rustup.
 * @param {string} what
 * @param {readonly string[]} args
 */
export async function rustup(what, args) {
  if (which("rustup") === undefined) {
    throw new Missing(
      `${what} is needed; this Rust did not come by rustup, so get it as its packages print, or use https://rustup.rs`,
    );
  }
  print(`adding ${what}`);
  await run("rustup", args);
}

/**
 * Whether `version` is before `wanted`, both as numbers with dots.
 * @param {string} version
 * @param {string} wanted
 */
function isOlder(version, wanted) {
  const [have, need] = [version, wanted].map((text) => text.split(/[.-]/).map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (have?.[index] ?? 0) - (need?.[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Settings for the fastest compilation of tools, which run for seconds. */
const quickBuild = { CARGO_PROFILE_RELEASE_OPT_LEVEL: "0", CARGO_PROFILE_RELEASE_LTO: "off" };

/** Builds a missing tool. @param {import("./lib/rust.mjs").CargoTool} tool */
export async function cargoTool(tool) {
  if ((await findCargoTool(tool)) !== undefined) return;
  print(`building ${tool.binary} ${tool.version} into ${tool.root} (once)`);
  mkdirSync(toolDirectory, { recursive: true });
  const target = mkdtempSync(join(toolDirectory, "target-"));
  const args = ["install", ...tool.install, "--root", tool.root, "--target-dir", target, "--no-track"];
  try {
    await withProgress(`cargo install ${tool.binary}`, () => run("cargo", args, { env: quickBuild }));
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/** Installs the Python packages of the tests in an environment of their own. */
export async function pythonPackages() {
  // Without dependencies: of Flink's package only the jars are needed, and the others have none.
  await pythonEnvironmentWith(pythonEnvironment(), ["--no-deps", "--requirement", pythonRequirements]);
}

/**
 * Makes a Python environment with packages, one of which has hundreds of MB.
 * @param {string} directory
 * @param {readonly string[]} packages as arguments of pip
 */
export async function pythonEnvironmentWith(directory, packages) {
  const stamp = pythonStamp(directory);
  if (existsSync(stamp)) return;
  print(`installing Python packages into ${directory} (once; hundreds of MB)`);
  await run(programs.python.find() ?? "python3", ["-m", "venv", "--clear", directory]);
  const flags = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--only-binary", ":all:"];
  await withProgress("pip install", () =>
    run(join(directory, "bin", "python"), ["-m", "pip", "install", ...flags, ...packages]),
  );
  writeFileSync(stamp, "");
}

/** Installs Kafka's jars by Maven. The directory exists once it is complete. */
export async function brokerJars() {
  if (existsSync(kafkaJars())) return;
  print(`copying the jars of a Kafka broker into ${kafkaJars()} (once; 43 MB)`);
  mkdirSync(toolDirectory, { recursive: true });
  const directory = mkdtempSync(join(toolDirectory, "jars-"));
  const flags = ["--quiet", "--batch-mode", "--file", kafkaPom, `-DoutputDirectory=${directory}`];
  try {
    await withProgress("mvn", () => run(programs.maven.find() ?? "mvn", [...flags, "dependency:copy-dependencies"]));
    renameSync(directory, kafkaJars());
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Runs a script's body. Missing requirements and failed commands are printed without a stack trace, and end it with
 * exit code 1.
 * @param {() => Promise<void>} body
 */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof Missing || error instanceof CommandFailed)) throw error;
    console.error(`\n${error.message}`);
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [level] = process.argv.slice(2);
  await main(async () => {
    if (level === "start") return setUp();
    if (level !== undefined) throw new Missing("usage: node scripts/setup.mjs [start]");
    await setUpLinters();
    await setUp({ programs: Object.values(programs), tools: [wasmTestRunner, wasmPack], python: true, broker: true });
  });
}
