/** Rust to Wasm with its JavaScript glue: `cargo build`, `wasm-bindgen`, `wasm-opt`; and to JavaScript: `wasm2js`. */
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { hashOf, readIfThere, writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { CommandFailed, output, run, withProgress } from "../lib/run.mjs";
import { cargoHome, pathWith, rustc, wasmBindgenTool, wasmTarget } from "../lib/rust.mjs";
import { declarations, translate } from "./wasm2js.mjs";

/**
 * @typedef {object} WasmModule
 * @property {string} name its directory in js/generated/
 * @property {string} features of the crate
 * @property {string} file its place in dist/
 * @property {"3" | "s"} optLevel what makes it small after compression, or else quick
 * @property {true} [inDemo] the demo runs it
 */

/** @type {readonly WasmModule[]} */
export const modules = [
  { name: "client", features: "client", file: "seenguard.wasm", optLevel: "s", inDemo: true },
  { name: "formats", features: "client,formats", file: "formats.wasm", optLevel: "s" },
  { name: "server", features: "server,formats", file: "server.wasm", optLevel: "3", inDemo: true },
];

/**
 * What the package takes of a glue, as one object of what it exports: of a whole module, bundlers make one by a loop. Its
 * own start loads modules, too, and does so once; `instantiate` is given what is there already, as often as a trap needs
 * a fresh instance.
 * @param {string} glue
 */
export function addedTo(glue) {
  const names = Array.from(glue.matchAll(/^export (?:class|const|function) (\w+)/gm), ([, name = ""]) => name);
  const types = names.map((name) => `    readonly ${name}: typeof ${name};\n`);
  return {
    "seenguard.js": `
/** Makes an instance in place of the one before, of which no object may be used any more, or collected. */
function instantiate(module) {
    const instantiated = WebAssembly.instantiate(module, __wbg_get_imports());
    return instantiated.then((made) => {
        const instance = made instanceof WebAssembly.Instance ? made : made.instance;
        return __wbg_finalize_init(instance, module);
    });
}

const glue = { instantiate, ${names.join(", ")} };
export { glue };
`,
    "seenguard.d.ts": `
export const glue: {
    readonly instantiate: (module: SyncInitInput) => Promise<InitOutput>;
${types.join("")}};
`,
  };
}

/**
 * The glue of a page's module without what the package does not use: names of enums' numbers, and the registries that
 * free collected objects, since guards are freed when they close.
 * @param {string} glue
 */
export const withoutUnused = (glue) =>
  glue
    .replace(/, "\d+": "\w+"/g, "")
    .replace(/^const \w+Finalization = [^;]+;\n/gm, "")
    .replace(/^ +\w+Finalization\.(?:un)?register\(.*\);\n/gm, "")
    .replace(/^if \(Symbol\.dispose\).*\n/gm, "");

/** @param {string} name */
const compiledPath = (name) => inProject("target", "wasm", `${name}.wasm`);

/** All that a module is compiled from; the compiler is in the stamp, too. */
const sources = ["src", "Cargo.toml", "Cargo.lock", ".cargo", "scripts/build/wasm.mjs"].map((path) => inProject(path));

/**
 * Needs cargo alone, so that it may run while everything else is installed. A module is compiled only if something has
 * changed: cargo has one file for a cdylib, so that it would compile each module again after another.
 * @param {readonly WasmModule[]} [wanted]
 */
export async function compileModules(wanted = modules) {
  const { commit } = await rustc();
  const { target_directory: target } = await cargoMetadata();
  mkdirSync(inProject("target", "wasm"), { recursive: true });
  for (const module of wanted) {
    const compiled = compiledPath(module.name);
    const stampFile = compiled.replace(/wasm$/, "compiled.stamp");
    const stamp = () => `${hashOf([...sources, compiled])} ${commit}`;
    if (readIfThere(stampFile)?.toString() === stamp()) continue;
    await withProgress(`cargo build (${module.name})`, () => compile(module));
    copyFileSync(join(target, wasmTarget, "release", "seenguard.wasm"), compiled);
    writeWhole(stampFile, stamp());
  }
}

/** @param {WasmModule} module */
async function compile({ features, optLevel }) {
  const { sysroot, commit } = await rustc();
  // The messages of panics name source files: the same on every machine, without a home directory.
  const remap = [
    `--remap-path-prefix=${cargoHome}=cargo`,
    `--remap-path-prefix=${sysroot}/lib/rustlib/src/rust=/rustc/${commit}`,
  ];
  const args = ["build", "--release", "--lib", "--target", wasmTarget, "--no-default-features", "--features", features];
  // Flags in the environment would replace those of .cargo/config.toml.
  const env = { RUSTFLAGS: undefined, CARGO_ENCODED_RUSTFLAGS: undefined, CARGO_PROFILE_RELEASE_OPT_LEVEL: optLevel };
  await run("cargo", [...args, "--config", `target.${wasmTarget}.rustflags=${JSON.stringify(remap)}`], { env });
}

/**
 * Makes js/generated/ of the compiled modules, and those files of dist/ that are modules.
 * @param {readonly WasmModule[]} [wanted]
 */
export async function bindModules(wanted = modules) {
  const flags = await wasmOptFlags();
  await withProgress("wasm-bindgen, wasm-opt", () => Promise.all(wanted.map((module) => bind(module, flags))));
}

/** What js/generated/ has besides the modules: the glue of `seenguard/slim`, and the engines as JavaScript. */
export async function translateModules() {
  copyGlue();
  const flags = await wasmOptFlags();
  await withProgress("wasm2js", () => Promise.all(modules.map(({ name }) => translateModule(name, flags))));
}

/**
 * @param {WasmModule} module
 * @param {readonly string[]} flags wasm-opt's
 */
async function bind({ name, file, features }, flags) {
  const directory = inProject("js", "generated", name);
  const products = ["seenguard.js", "seenguard.d.ts", "seenguard.wasm"].map((product) => join(directory, product));
  const stampFile = inProject("target", "wasm", `${name}.stamp`);
  const stamp = () =>
    [hashOf([compiledPath(name), ...products]), wasmBindgenTool.root, ...flags, addedTo, withoutUnused].join(" ");
  if (readIfThere(stampFile)?.toString() !== stamp()) {
    const temporary = mkdtempSync(inProject("target", "wasm", `${name}-`));
    try {
      await generate(compiledPath(name), temporary, flags);
      if (features.includes("client")) rewrite(join(temporary, "seenguard.js"), withoutUnused);
      for (const product of products)
        writeWhole(product, readFileSync(join(temporary, product.slice(directory.length))));
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
    writeWhole(stampFile, stamp());
  }
  writeWhole(inProject("dist", file), readFileSync(join(directory, "seenguard.wasm")));
}

/**
 * @param {string} path
 * @param {(text: string) => string} change
 */
const rewrite = (path, change) => writeWhole(path, change(readFileSync(path, "utf8")));

/**
 * @param {string} compiled
 * @param {string} directory
 * @param {readonly string[]} flags
 */
async function generate(compiled, directory, flags) {
  const env = await pathWith([wasmBindgenTool]);
  // The glue is given its module: a URL in it would make bundlers look for a file.
  const target = ["--target", "web", "--omit-default-module-path"];
  await run("wasm-bindgen", [...target, "--out-dir", directory, "--out-name", "seenguard", compiled], { env });
  const added = addedTo(readFileSync(join(directory, "seenguard.js"), "utf8"));
  for (const [file, text] of Object.entries(added)) appendFileSync(join(directory, file), text);
  const wasmOpt = inProject("node_modules", "binaryen", "bin", "wasm-opt");
  const files = [join(directory, "seenguard_bg.wasm"), "--output", join(directory, "seenguard.wasm")];
  await run(process.execPath, [wasmOpt, ...files, ...flags]);
}

/**
 * Makes the engine as JavaScript, next to its module.
 * @param {string} name the module's
 * @param {readonly string[]} flags wasm-opt's
 */
async function translateModule(name, flags) {
  const directory = inProject("js", "generated", name);
  const products = ["engine-js.js", "engine-js.d.ts"].map((product) => join(directory, product));
  const [script = "", types = ""] = products;
  const inputs = ["seenguard.wasm", "seenguard.js"].map((input) => join(directory, input));
  const recipe = inProject("scripts", "build", "wasm2js.mjs");
  const stampFile = inProject("target", "wasm", `${name}-js.stamp`);
  const stamp = () => [hashOf([...inputs, ...products, recipe]), ...flags].join(" ");
  if (readIfThere(stampFile)?.toString() === stamp()) return;
  writeWhole(script, await translate(directory, flags));
  writeWhole(types, declarations);
  writeWhole(stampFile, stamp());
}

/** wasm-opt's flags stand in Cargo.toml, where wasm-pack looks for them, too. */
export async function wasmOptFlags() {
  const { packages } = await cargoMetadata();
  const flags = packages.find(({ name }) => name === "seenguard")?.metadata?.["wasm-pack"]?.profile.release["wasm-opt"];
  if (flags === undefined) throw new CommandFailed("Cargo.toml does not say how wasm-opt is called");
  return flags;
}

/**
 * @typedef {object} CargoMetadata
 * @property {string} target_directory
 * @property {{ name: string, metadata: { "wasm-pack"?: { profile: { release: { "wasm-opt": string[] } } } } | null }[]}
 *   packages
 */

/** @returns {Promise<CargoMetadata>} */
async function cargoMetadata() {
  const json = await output("cargo", ["metadata", "--no-deps", "--format-version", "1"]);
  if (json === undefined) throw new CommandFailed("cargo metadata failed: is Cargo.toml as it should be?");
  /** @type {CargoMetadata} */
  const metadata = JSON.parse(json);
  return metadata;
}

/** `seenguard/slim` is given either module, and has the glue of one: a copy, since a glue has one module's memory. */
function copyGlue() {
  const read = (/** @type {string} */ name, /** @type {string} */ file) =>
    readFileSync(inProject("js", "generated", name, file), "utf8");
  if (read("client", "seenguard.js") !== read("formats", "seenguard.js"))
    throw new CommandFailed("the glue of formats.wasm is not that of seenguard.wasm");
  for (const file of ["seenguard.js", "seenguard.d.ts"])
    writeWhole(inProject("js", "generated", "slim", file), read("formats", file));
}
