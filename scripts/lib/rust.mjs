/** Rust's toolchain, and the tools that cargo builds for this project. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fromEnvironment, inProject, toolDirectory } from "./paths.mjs";
import { which } from "./programs.mjs";
import { output } from "./run.mjs";

export const wasmTarget = "wasm32-unknown-unknown";

/** The compiler of the package's Wasm modules: one version, so that they are the same bytes wherever they are built, and because of how they are built. */
export const wasmToolchain = "1.95.0";

/** rustup puts cargo here, and PATH has it only in shells that were opened later. */
const cargoBin = join(fromEnvironment("CARGO_HOME") ?? join(homedir(), ".cargo"), "bin");
if (which("cargo") === undefined && existsSync(cargoBin)) {
  process.env.PATH = `${cargoBin}${delimiter}${process.env.PATH ?? ""}`;
}

/**
 * @typedef {object} CargoTool
 * @property {string} crate
 * @property {string} version
 * @property {string} binary
 * @property {readonly string[]} flags
 */

/** The manifest's own words are the one place that names versions.
 * @param {RegExp} pattern
 * @param {string} what
 */
function fromManifest(pattern, what) {
  const found = pattern.exec(readFileSync(inProject("Cargo.toml"), "utf8"))?.[1];
  if (found === undefined) throw new Error(`Cargo.toml does not say ${what}`);
  return found;
}

/** The oldest Rust that compiles the crate. */
export const minimumRust = () => fromManifest(/^rust-version\s*=\s*"([\d.]+)"/m, "rust-version");

/** The compiler, in its own words: what it makes depends on them. */
export async function rustVersion() {
  return (await output("rustc", ["--version"])) ?? "no rustc";
}

/** Writes the JavaScript beside the Wasm module. It must be of the very version of the crate; its own lock file names crates that cannot be had, hence no --locked.
 * @returns {CargoTool}
 */
export const wasmBindgenTool = () => ({
  crate: "wasm-bindgen-cli",
  version: fromManifest(/^wasm-bindgen\s*=\s*(?:\{.*?version\s*=\s*)?"=([\d.]+)"/m, 'wasm-bindgen = "=…"'),
  binary: "wasm-bindgen",
  flags: [],
});

/** Runs the crate's Wasm tests. @type {() => CargoTool} */
export const wasmPackTool = () => ({
  crate: "wasm-pack",
  version: "0.15.1",
  binary: "wasm-pack",
  flags: ["--locked"],
});

/** @param {CargoTool} tool */
export const installRoot = (tool) => join(toolDirectory, `${tool.crate}-${tool.version}`);

/**
 * The directory with this tool in its version: what an earlier set-up installed, or what PATH has.
 * @param {CargoTool} tool
 * @returns {Promise<string | undefined>}
 */
export async function findCargoTool(tool) {
  const installed = join(installRoot(tool), "bin");
  const name = process.platform === "win32" ? `${tool.binary}.exe` : tool.binary;
  if (existsSync(join(installed, name))) return installed;
  const onPath = which(tool.binary);
  if (onPath === undefined) return undefined;
  const said = await output(onPath, ["--version"]);
  return said?.split(" ")[1] === tool.version ? join(onPath, "..") : undefined;
}

/**
 * The environment in which cargo tools are found by name, by each other too.
 * @param {readonly CargoTool[]} tools
 * @returns {Promise<{ PATH: string }>}
 */
export async function pathWith(tools) {
  const directories = await Promise.all(tools.map(findCargoTool));
  const missing = tools.find((_, index) => directories[index] === undefined);
  if (missing !== undefined) throw new Error(`${missing.crate} ${missing.version} is not installed: npm run setup`);
  return { PATH: [...directories, process.env.PATH ?? ""].join(delimiter) };
}
