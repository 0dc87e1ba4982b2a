/** Rust to Wasm: compiled, rid of what is for wasm-bindgen, optimised, checked, and written where the bundles and the package take it from. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { hashOf, readIfThere, writeWhole } from "../lib/files.mjs";
import { inProject, root } from "../lib/paths.mjs";
import { output, run } from "../lib/run.mjs";
import { pathWith, wasmBindgenTool, wasmTarget, wasmToolchain } from "../lib/rust.mjs";
import { checkFeatures, checkPaths, featureFlags, wasmOpt } from "./check-wasm.mjs";
import { withoutAlignments } from "./wasm-code.mjs";
import { buildUnpacker, textOfModule, unpacker } from "./wasm-text.mjs";

/**
 * A panic is a trap that says nothing: what would say it is a tenth of the module, and pages cannot do anything with it. For that the standard
 * library is compiled anew, which no stable compiler promises; hence one version of it, which is told that we know.
 */
const wordlessPanics = [
  ...["-Z", "build-std=std,panic_abort", "-Z", "panic-immediate-abort"],
  ...["--config", 'profile.release.panic="immediate-abort"'],
];

/** As quick in Wasm as 3, and 1% less to load. */
const optimisation = ["--config", "profile.release.opt-level=2"];

/**
 * What the compiler copies code for by default pays where a loop is all that runs, and pages load each copy: 2.7 KB less, and filtering takes as long.
 * Loops whose number of turns is not known are compiled once; of functions that are called at several places only the small ones are copied there;
 * what is computed on one of two ways is not copied to the end of the other; and loops count what their authors count, not several pointers instead.
 */
const sparingCopies = [
  ...["-unroll-runtime=false", "-unroll-allow-partial=false"],
  "-inline-threshold=50",
  ...["-enable-pre=false", "-enable-load-pre=false"],
  ...["-disable-lsr", "-disable-lftr"],
].map((argument) => `-Cllvm-args=${argument}`);

const stampFile = inProject("target", "seenguard-wasm.stamp");

const sources = [
  "src",
  "Cargo.toml",
  "Cargo.lock",
  ".cargo",
  "scripts/build/wasm.mjs",
  "scripts/build/wasm-code.mjs",
  "scripts/build/wasm-text.mjs",
  "js/wasm-text.wat",
].map((path) => inProject(path));

/**
 * @typedef {object} Module
 * @property {string} name its directory in js/generated/
 * @property {string} features of the crate
 * @property {boolean} isPlain it takes and gives numbers alone; another one needs glue
 * @property {string | undefined} file in dist/
 * @property {boolean} isInlined
 */

/** @type {readonly Module[]} */
const modules = [
  { name: "page", features: "guard", isPlain: true, file: "seenguard.wasm", isInlined: true },
  { name: "page", features: "formats,guard", isPlain: true, file: "formats.wasm", isInlined: false },
  { name: "chain", features: "chain", isPlain: true, file: undefined, isInlined: true },
  { name: "whole", features: "chain,formats,guard", isPlain: true, file: undefined, isInlined: true },
  { name: "inspect", features: "formats,inspect", isPlain: false, file: "inspect.wasm", isInlined: false },
];

/**
 * What is made of a module.
 * @param {Module} module
 */
const products = ({ name, isPlain, file, isInlined }) => {
  const directory = inProject("js", "generated", name);
  return {
    wasm: file === undefined ? undefined : inProject("dist", file),
    text: isInlined ? join(directory, "wasm-text.ts") : undefined,
    types: join(directory, isPlain ? "wasm.d.ts" : "glue.d.ts"),
    glue: isPlain ? undefined : join(directory, "glue.js"),
  };
};

/** What was built from what: equal when neither the sources nor the results have changed since. */
const stamp = () =>
  hashOf([
    ...sources,
    unpacker.product,
    ...modules.flatMap((module) => Object.values(products(module)).flatMap((path) => path ?? [])),
  ]);

export async function buildWasm() {
  if (readIfThere(stampFile)?.toString() === stamp()) return;
  mkdirSync(inProject("target"), { recursive: true });
  await inWorkshop(buildUnpacker);
  for (const module of modules) {
    console.log(`build: compiling Rust to Wasm: ${module.features}`);
    // Each is compiled to the same place.
    const compiled = await compile(module);
    await inWorkshop((workshop) => bindAndOptimise(compiled, workshop, module));
  }
  writeWhole(stampFile, stamp());
}

/**
 * @template T
 * @param {(workshop: string) => Promise<T>} work is given an empty directory, which goes with what is in it when the work is done
 */
async function inWorkshop(work) {
  const workshop = mkdtempSync(inProject("target", "wasm-"));
  try {
    return await work(workshop);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

/**
 * Returns where cargo put the module.
 * @param {Module} module
 */
async function compile({ features }) {
  const directories = await cargoDirectories();
  // What names a file names the same on every machine, and nobody's home.
  const remap = [[root, "seenguard"], ...directories.registries.map((path) => [path, "crates"])];
  const flags = [...remap.map(([from, to]) => `--remap-path-prefix=${String(from)}=${String(to)}`), ...sparingCopies];
  await run(
    "cargo",
    [
      `+${wasmToolchain}`,
      ...["build", "--release", "--lib", "--target", wasmTarget, "--no-default-features", "--features", features],
      ...["--config", `target.${wasmTarget}.rustflags=${JSON.stringify(flags)}`],
      ...wordlessPanics,
      ...optimisation,
    ],
    // Flags in the environment would replace these.
    { env: { RUSTFLAGS: undefined, CARGO_ENCODED_RUSTFLAGS: undefined, RUSTC_BOOTSTRAP: "1" } },
  );
  return join(directories.target, wasmTarget, "release", "seenguard.wasm");
}

/** Where cargo puts what it builds, and where it keeps the sources of the crates that this one depends on. */
async function cargoDirectories() {
  const json = await output("cargo", ["metadata", "--format-version", "1", "--filter-platform", wasmTarget]);
  if (json === undefined) {
    await run("cargo", ["metadata", "--format-version", "1"]); // which says what is wrong
    throw new Error("cargo metadata answers one time and not another");
  }
  const metadata =
    /** @type {{ target_directory: string, packages: { source: string | null, manifest_path: string }[] }} */ (
      JSON.parse(json)
    );
  const foreign = metadata.packages.filter(({ source }) => source !== null);
  return {
    target: metadata.target_directory,
    registries: [...new Set(foreign.map(({ manifest_path }) => dirname(dirname(manifest_path))))],
  };
}

/**
 * @param {string} compiled
 * @param {string} workshop a directory for what comes in between
 * @param {Module} module
 */
async function bindAndOptimise(compiled, workshop, module) {
  const bindable = module.isPlain ? join(workshop, "plain.wasm") : compiled;
  if (module.isPlain) writeWhole(bindable, withoutReferences(readFileSync(compiled)));
  const env = await pathWith([wasmBindgenTool()]);
  const flags = ["--remove-name-section", "--encode-into", "always", "--out-dir", workshop];
  await run("wasm-bindgen", [bindable, "--target", "web", "--out-name", "glue", ...flags], { env });
  const optimised = join(workshop, "optimised.wasm");
  await optimise(join(workshop, "glue_bg.wasm"), optimised, module);
  const wasm = withoutAlignments(readFileSync(optimised));
  writeWhole(optimised, wasm);
  checkPaths(wasm);
  const used = await checkFeatures(optimised);
  console.log(`build: beyond the first Wasm, the module uses ${used.join(", ")}`);

  const files = products(module);
  if (files.text !== undefined) {
    const comment = "/** The Wasm module as text, which ../../wasm-text.ts reads. */";
    writeWhole(files.text, `${comment}\nexport const wasmText = ${JSON.stringify(textOfModule(wasm))};\n`);
  }
  if (files.wasm !== undefined) writeWhole(files.wasm, wasm);
  const types = readFileSync(join(workshop, "glue.d.ts"), "utf8");
  if (files.glue !== undefined) {
    writeWhole(files.glue, readFileSync(join(workshop, "glue.js")));
    writeWhole(files.types, types);
  } else {
    if (WebAssembly.Module.imports(new WebAssembly.Module(wasm)).length > 0)
      throw new Error(`the module ${module.features} needs glue`);
    writeWhole(files.types, exportsOf(types));
  }
}

/**
 * What a module exports, as a type.
 * @param {string} declarations of its glue
 */
function exportsOf(declarations) {
  const found = /^export interface InitOutput (\{.*?^\})$/ms.exec(declarations)?.[1];
  if (found === undefined) throw new Error("wasm-bindgen does not declare what the module exports as it did");
  return `/** Made by the build: what the Wasm module exports. */\nexport interface Wasm ${found}\n`;
}

/**
 * Has a module say that it does not use references ("-" instead of "+" before the feature's name in the list of those that were compiled for). To one
 * that may, wasm-bindgen gives a table for them, with code and glue that fill it, though nothing is ever in it.
 * @param {Buffer} wasm
 */
function withoutReferences(wasm) {
  const name = "\x0Freference-types";
  const [before, after, ...more] = wasm.toString("latin1").split(`+${name}`);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error("the module does not tell its features");
  return Buffer.from(`${before}-${name}${after}`, "latin1");
}

/**
 * @param {string} from
 * @param {string} to
 * @param {Module} module
 */
async function optimise(from, to, { isPlain }) {
  const passes = [
    // What wasm-bindgen exports for its glue.
    ...(isPlain ? ["--remove-exports", "--pass-arg=remove-exports@__*"] : []),
    "-O3",
    // Once more, for what the first pass has left; functions that are called much get short numbers.
    ...["-Os", "--reorder-functions"],
    // The lowest addresses are the end of the stack, far from what anybody points to.
    ...["--low-memory-unused", "--strip-debug", "--strip-producers", "--strip-target-features"],
  ];
  await run(process.execPath, [wasmOpt, from, "--output", to, ...passes, ...featureFlags]);
}
