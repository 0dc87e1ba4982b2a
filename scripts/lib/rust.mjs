/** Rust's toolchain, and the tools that cargo builds for this project. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fromEnvironment, inProject, toolDirectory } from "./paths.mjs";
import { which } from "./programs.mjs";
import { CommandFailed, output } from "./run.mjs";

export const wasmTarget = "wasm32-unknown-unknown";

/** The directory in which rustup installs cargo. Only shells that are opened later have it on PATH. */
export const cargoHome = fromEnvironment("CARGO_HOME") ?? join(homedir(), ".cargo");
const cargoBin = join(cargoHome, "bin");
if (which("cargo") === undefined && existsSync(cargoBin)) {
  process.env.PATH = `${cargoBin}${delimiter}${process.env.PATH ?? ""}`;
}

/**
 * @typedef {object} CargoTool
 * @property {string} binary
 * @property {string} version the version in the output of `--version`
 * @property {RegExp} [works] other versions that work, if they are on PATH
 * @property {string} root the directory in whose bin/ it is installed
 * @property {readonly string[]} install arguments of `cargo install`
 * @property {string} [comesWith] the root of another tool whose installation includes it
 */

const manifest = readFileSync(inProject("Cargo.toml"), "utf8");

/**
 * @param {RegExp} pattern
 * @param {string} what
 */
function fromManifest(pattern, what) {
  const found = pattern.exec(manifest)?.[1];
  if (found === undefined) throw new Error(`Cargo.toml has no ${what}`);
  return found;
}

/** The minimum supported Rust version. */
export const minimumRust = fromManifest(/^rust-version\s*=\s*"([\d.]+)"/m, "rust-version");

/** wasm-bindgen's tools must be of the version of its crate. */
const wasmBindgenVersion = fromManifest(
  /^wasm-bindgen\s*=\s*(?:\{.*?version\s*=\s*)?"=([\d.]+)"/m,
  'wasm-bindgen = "=…"',
);

/** The compiler's own description of its version, on which its output depends. */
export async function rustVersion() {
  return (await output("rustc", ["--version"])) ?? "no rustc";
}

/** The directory of the compiler's library, and the compiler's commit. */
export async function rustc() {
  const sysroot = await output("rustc", ["--print", "sysroot"]);
  const commit = /^commit-hash: (\w+)$/m.exec((await output("rustc", ["--verbose", "--version"])) ?? "")?.[1];
  if (sysroot === undefined || commit === undefined)
    throw new CommandFailed("rustc does not print its sysroot or commit");
  return { sysroot, commit };
}

const bindgenSource = inProject("scripts", "tools", "wasm-bindgen");

/**
 * wasm-bindgen's published commands, among them the runner of Wasm tests. Without --locked, since their lock file names
 * versions that are not on every registry.
 * @type {CargoTool}
 */
export const wasmTestRunner = {
  binary: "wasm-bindgen-test-runner",
  version: wasmBindgenVersion,
  root: installRoot("wasm-bindgen-cli", wasmBindgenVersion),
  install: ["wasm-bindgen-cli", "--version", wasmBindgenVersion],
};

/**
 * Generates the JavaScript glue of a Wasm module. The tests' installation and a `wasm-bindgen` on PATH are used, if
 * they have this version.
 * @type {CargoTool}
 */
export const wasmBindgenTool = {
  binary: "wasm-bindgen",
  version: wasmBindgenVersion,
  root: installRoot("wasm-bindgen-tool", `${wasmBindgenVersion}-${digestOf(join(bindgenSource, "src", "main.rs"))}`),
  comesWith: wasmTestRunner.root,
  install: ["--path", bindgenSource, "--profile", "tool", "--locked"],
};

/** @type {CargoTool} */
export const wasmPack = {
  binary: "wasm-pack",
  version: "0.15.1",
  works: /^0\.15\./,
  root: installRoot("wasm-pack", "0.15.1"),
  install: ["wasm-pack", "--version", "0.15.1", "--locked"],
};

/**
 * cargo-mutants, installed by `npm run mutants`.
 * @type {CargoTool}
 */
export const cargoMutants = {
  binary: "cargo-mutants",
  version: "27.1.0",
  root: installRoot("cargo-mutants", "27.1.0"),
  install: ["cargo-mutants", "--version", "27.1.0", "--locked"],
};

/**
 * @param {string} name
 * @param {string} version
 */
function installRoot(name, version) {
  return join(toolDirectory, `${name}-${version}`);
}

/** @param {string} file */
function digestOf(file) {
  return createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 8);
}

/**
 * Returns the directory with this version of a tool, on PATH or installed by an earlier set-up.
 * @param {CargoTool} tool
 * @returns {Promise<string | undefined>}
 */
export async function findCargoTool({ binary, version, works, root, comesWith }) {
  const onPath = which(binary);
  const said = onPath === undefined ? undefined : await output(onPath, ["--version"]);
  const there = said?.split(" ")[1] ?? "";
  if (onPath !== undefined && (there === version || works?.test(there) === true)) return join(onPath, "..");
  const name = process.platform === "win32" ? `${binary}.exe` : binary;
  const directories = [root, comesWith].flatMap((each) => (each === undefined ? [] : join(each, "bin")));
  return directories.find((directory) => existsSync(join(directory, name)));
}

/**
 * Returns an environment in which these tools are on PATH.
 * @param {readonly CargoTool[]} tools
 * @returns {Promise<{ PATH: string }>}
 */
export async function pathWith(tools) {
  const directories = await Promise.all(tools.map(findCargoTool));
  const missing = tools.find((_, index) => directories[index] === undefined);
  if (missing !== undefined) {
    throw new CommandFailed(`${missing.binary} ${missing.version} is not installed: npm run setup`);
  }
  return { PATH: [...directories, process.env.PATH ?? ""].join(delimiter) };
}
