/** The compiler and the tool of the fuzz targets, which the other steps do not need: got when first asked for. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fromEnvironment, inProject, toolDirectory } from "../../../scripts/lib/paths.mjs";
import { CommandFailed, output, run } from "../../../scripts/lib/run.mjs";
import { cargoTool, rustup } from "../../../scripts/setup.mjs";
import { pathWith } from "../../../scripts/lib/rust.mjs";

/** libFuzzer's instrumentation is on nightly alone. A date, so that a run does not depend on the day. */
const TOOLCHAIN = "nightly-2026-05-20";

const version = "0.13.2";
/** @type {import("../../../scripts/lib/rust.mjs").CargoTool} */
const cargoFuzz = {
  binary: "cargo-fuzz",
  version,
  root: join(toolDirectory, `cargo-fuzz-${version}`),
  install: ["cargo-fuzz", "--version", version, "--locked"],
};

export async function setUpFuzzing() {
  const isThere = (await nightly("rustc", "--version")) !== undefined;
  if (!isThere || !existsSync(join(await llvmTools(), "llvm-cov"))) {
    await rustup(TOOLCHAIN, ["toolchain", "install", TOOLCHAIN, "--profile", "minimal", "--component", "llvm-tools"]);
  }
  await cargoTool(cargoFuzz);
}

/** @param {string} command @param {...string} args */
const nightly = (command, ...args) => output("rustup", ["run", TOOLCHAIN, command, ...args]);

/** `cargo fuzz` with these arguments. @param {...string} args */
export async function runCargoFuzz(...args) {
  const env = { ...(await pathWith([cargoFuzz])), RUSTUP_TOOLCHAIN: TOOLCHAIN };
  await run("cargo", ["fuzz", ...args], { env, cwd: inProject("lab", "fuzz") });
}

/**
 * Builds all targets at once, and says where they are. Without AddressSanitizer: the crate forbids unsafe code, and
 * without it a second holds several times as many inputs.
 * @returns {Promise<(target: string) => string>}
 */
export async function build() {
  await runCargoFuzz("build", "--sanitizer", "none");
  const directory = join(targetDirectory, await host(), "release");
  return (target) => join(directory, target);
}

const targetDirectory = fromEnvironment("CARGO_TARGET_DIR") ?? inProject("lab", "fuzz", "target");

/**
 * The same by the stable compiler, which instruments nothing: for running what is in the corpus, and no more.
 * @returns {Promise<(target: string) => string>}
 */
export async function buildPlain() {
  const directory = join(targetDirectory, "plain");
  const args = [
    "build",
    "--release",
    "--manifest-path",
    inProject("lab", "fuzz", "Cargo.toml"),
    "--target-dir",
    directory,
  ];
  await run("cargo", args, { env: { RUSTFLAGS: "--cfg fuzzing" } });
  return (target) => join(directory, "release", target);
}

/** The machine, as directories of cargo and rustup name it. */
async function host() {
  const triple = /^host: (\S+)$/m.exec((await nightly("rustc", "-vV")) ?? "")?.[1];
  if (triple === undefined) throw new CommandFailed(`${TOOLCHAIN} does not tell its host`);
  return triple;
}

/** Where the toolchain has its LLVM tools. */
export async function llvmTools() {
  return join((await nightly("rustc", "--print", "sysroot")) ?? "", "lib", "rustlib", await host(), "bin");
}

/** Where `cargo fuzz coverage` puts an instrumented target, wherever others go. @param {string} target */
export async function coverageBinary(target) {
  return inProject("lab", "fuzz", "target", await host(), "coverage", await host(), "release", target);
}
