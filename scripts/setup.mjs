/**
 * Gets everything that the project needs onto this machine: `node scripts/setup.mjs [start|test]`.
 *
 * "start" is what the build and the demo need, "test" (the default) what all tests need. It uses Node's own modules alone, since nothing else may be
 * there yet. What is there already is not touched, and nothing is said about it. Programs of the system are installed by apt on Debian as root;
 * elsewhere it says what is missing and how to get it. Tools that cargo builds go into the user's cache, never among the user's own.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inProject } from "./lib/paths.mjs";
import { programs, which } from "./lib/programs.mjs";
import { CommandFailed, output, run } from "./lib/run.mjs";
import { python, pythonEnvironment, pythonRequirements, pythonStamp } from "./lib/servers.mjs";
import {
  findCargoTool,
  installRoot,
  minimumRust,
  wasmBindgenTool,
  wasmPackTool,
  wasmTarget,
  wasmToolchain,
} from "./lib/rust.mjs";

/** @typedef {"start" | "test"} Level */

/** What a person has to do before set-up can go on. */
class Missing extends Error {}

/** @param {string} line */
const say = (line) => {
  console.log(`set-up: ${line}`);
};

/** @param {Level} level */
export async function setUp(level) {
  checkNode();
  await systemPrograms(level === "start" ? [programs.compiler] : Object.values(programs));
  await rustToolchain(level);
  await cargoTool(wasmBindgenTool());
  if (level === "test") {
    await cargoTool(wasmPackTool());
    await pythonPackages();
  }
  await nodeModules();
}

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
async function systemPrograms(wanted) {
  let missing = wanted.filter((program) => program.find() === undefined);
  if (missing.length === 0) return;
  const packages = [...new Set(missing.flatMap((program) => program.apt.split(" ")))];
  if (isDebian() && process.getuid?.() === 0) {
    await aptInstall(packages);
    missing = wanted.filter((program) => program.find() === undefined);
    if (missing.length === 0) return;
  }
  const how = isDebian()
    ? `run as root: apt-get update && apt-get install ${packages.join(" ")}`
    : `install: ${missing.map((program) => program.elsewhere).join("; ")}`;
  throw new Missing(`this machine lacks what ${packages.join(", ")} bring on Debian; ${how}`);
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
  say(`installing by apt: ${packages.join(", ")}`);
  await run("apt-get", ["update", "--quiet"], { env });
  await run("apt-get", ["install", "--yes", "--quiet", "--no-install-recommends", ...packages], { env });
}

/** @param {Level} level */
async function rustToolchain(level) {
  const version = /^rustc (\S+)/.exec((await output("rustc", ["--version"])) ?? "")?.[1];
  const wanted = minimumRust();
  if (version === undefined || which("cargo") === undefined) {
    throw new Missing(`Rust ${wanted} or newer is needed, with rustup: https://rustup.rs`);
  }
  if (isOlder(version, wanted)) {
    throw new Missing(`Rust ${wanted} or newer is needed, and this is ${version}: rustup update stable`);
  }
  const sysroot = (await output("rustc", ["--print", "sysroot"])) ?? "";
  if (!existsSync(join(sysroot, "lib", "rustlib", wasmTarget))) {
    await rustup(`Rust's ${wasmTarget} target`, ["target", "add", wasmTarget]);
  }
  await packageToolchain();
  if (level === "start") return;
  const ending = process.platform === "win32" ? ".exe" : "";
  for (const [component, binary] of /** @type {const} */ ([
    ["clippy", "cargo-clippy"],
    ["rustfmt", "cargo-fmt"],
  ])) {
    if (existsSync(join(sysroot, "bin", binary + ending))) continue;
    await rustup(component, ["component", "add", component]);
  }
}

/** The compiler of the package's Wasm modules, with the sources of its standard library, which is built into them. */
async function packageToolchain() {
  const toolchains = (await output("rustup", ["toolchain", "list"])) ?? "";
  if (!toolchains.split("\n").some((line) => line.startsWith(`${wasmToolchain}-`))) {
    const install = ["toolchain", "install", wasmToolchain, "--profile", "minimal", "--no-self-update"];
    await rustup(`Rust ${wasmToolchain}, which builds the package's Wasm`, install);
  }
  const toolchain = ["--toolchain", wasmToolchain];
  const sysroot = (await output("rustc", [`+${wasmToolchain}`, "--print", "sysroot"])) ?? "";
  const has = (/** @type {string[]} */ ...path) => existsSync(join(sysroot, "lib", "rustlib", ...path));
  if (!has(wasmTarget)) await rustup(`its ${wasmTarget} target`, ["target", "add", wasmTarget, ...toolchain]);
  if (!has("src", "rust", "library", "Cargo.lock")) {
    await rustup("the sources of its standard library", ["component", "add", "rust-src", ...toolchain]);
  }
}

/**
 * @param {string} what
 * @param {readonly string[]} args
 */
async function rustup(what, args) {
  if (which("rustup") === undefined) {
    throw new Missing(
      `${what} is needed; this Rust did not come by rustup, so get it as its packages say, or use https://rustup.rs`,
    );
  }
  say(`adding ${what}`);
  await run("rustup", args);
}

/**
 * Whether `version` comes before `wanted`, both as numbers with dots.
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

/** @param {import("./lib/rust.mjs").CargoTool} tool */
async function cargoTool(tool) {
  if ((await findCargoTool(tool)) !== undefined) return;
  const root = installRoot(tool);
  say(`building ${tool.crate} ${tool.version} into ${root} (once, some minutes)`);
  mkdirSync(root, { recursive: true });
  await run("cargo", ["install", tool.crate, "--version", tool.version, "--root", root, ...tool.flags]);
}

/** The Python packages of the tests, in an environment of their own. */
async function pythonPackages() {
  if (existsSync(pythonStamp())) return;
  say(`installing Python packages into ${pythonEnvironment()} (once; one of them has 330 MB)`);
  await run(programs.python.find() ?? "python3", ["-m", "venv", "--clear", pythonEnvironment()]);
  // Flink's jars are wanted, and not what its Python needs beside them; the others need nothing.
  const flags = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"];
  await run(python(), ["-m", "pip", "install", ...flags, "--requirement", pythonRequirements], { ticking: "pip" });
  writeFileSync(pythonStamp(), "");
}

/** npm ci, when what is there was not made from this lock file. */
async function nodeModules() {
  const stamp = inProject("node_modules", ".seenguard-lock");
  const lock = createHash("sha256")
    .update(readFileSync(inProject("package-lock.json")))
    .digest("hex");
  const wanted = `${lock} ${process.platform} ${process.arch}`;
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  say("installing the development dependencies by npm ci");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  await run(npm, ["ci", "--no-audit", "--no-fund"], { ticking: "npm ci" });
  writeFileSync(stamp, wanted);
}

/**
 * Runs a script's body: what a person has to do, or what has failed, is said in one line and ends it with exit code 1.
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
  const level = process.argv[2] ?? "test";
  await main(async () => {
    if (level !== "start" && level !== "test") throw new Missing("usage: node scripts/setup.mjs [start|test]");
    await setUp(level);
  });
}
