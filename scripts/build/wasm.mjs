/**
 * Compiles Rust to Wasm with JavaScript glue (`cargo build`, `wasm-bindgen`, `wasm-opt`) and to JavaScript (`wasm2js`).
 */
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
 * @property {string} features the crate's features
 * @property {string} file its path in dist/
 * @property {"3" | "s"} optLevel the level for a small size after compression, or for speed
 * @property {true} [inDemo] the demo runs it
 */

/** @type {readonly WasmModule[]} */
export const modules = [
  { name: "client", features: "client", file: "seenguard.wasm", optLevel: "s", inDemo: true },
  { name: "formats", features: "client,formats", file: "formats.wasm", optLevel: "s" },
  { name: "server", features: "server,formats", file: "server.wasm", optLevel: "3", inDemo: true },
];

/**
 * Adds to a glue an object with its used exports (for a module namespace, bundlers generate a loop), and `instantiate`,
 * which can make a new instance of a loaded module after each trap: the glue's own start runs only once.
 * @param {string} glue
 */
export function addedTo(glue) {
  const names = Array.from(glue.matchAll(/^export (?:class|const|function) (\w+)/gm), ([, name = ""]) => name);
  const types = names.map((name) => `    readonly ${name}: typeof ${name};\n`);
  return {
    "seenguard.js": `
/** Replaces the instance. Objects of the previous one must no longer be used or finalized. */
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
 * Removes unused code from the glue of a page's module: reverse mappings of enums, type checks, and the finalization
 * registries, since guards are freed when they close.
 * @param {string} glue
 */
export const withoutUnused = (glue) =>
  glue
    .replace(/, "\d+": "\w+"/g, "")
    .replace(/^const \w+Finalization = [^;]+;\n/gm, "")
    .replace(/^ +(?:\w+Finalization\.(?:un)?register|_assertClass)\(.*\);\n/gm, "")
    .replace(/^if \(Symbol\.dispose\).*\n/gm, "");

/** @param {string} name */
const compiledPath = (name) => inProject("target", "wasm", `${name}.wasm`);

/** The inputs of a module's compilation, whose hash is in the stamp together with the compiler's version. */
const sources = ["src", "Cargo.toml", "Cargo.lock", ".cargo", "scripts/build/wasm.mjs"].map((path) => inProject(path));

/**
 * Compiles modules. It needs only cargo, so that it can run while everything else is installed. A module is compiled
 * only if its inputs have changed: cargo itself has one output file for all modules, and would recompile each after
 * another.
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
  // Panic messages contain source paths: make them the same on every machine, without the home directory.
  const remap = [
    `--remap-path-prefix=${cargoHome}=cargo`,
    `--remap-path-prefix=${sysroot}/lib/rustlib/src/rust=/rustc/${commit}`,
  ];
  const args = ["build", "--release", "--lib", "--target", wasmTarget, "--no-default-features", "--features", features];
  // Flags in the environment would override those of .cargo/config.toml.
  const env = { RUSTFLAGS: undefined, CARGO_ENCODED_RUSTFLAGS: undefined, CARGO_PROFILE_RELEASE_OPT_LEVEL: optLevel };
  await run("cargo", [...args, "--config", `target.${wasmTarget}.rustflags=${JSON.stringify(remap)}`], { env });
}

/**
 * Generates js/generated/ and the Wasm files of dist/ from the compiled modules.
 * @param {readonly WasmModule[]} [wanted]
 */
export async function bindModules(wanted = modules) {
  const flags = await wasmOptFlags();
  await withProgress("wasm-bindgen, wasm-opt", () => Promise.all(wanted.map((module) => bind(module, flags))));
}

/** Generates the other files of js/generated/: the glue of `seenguard/slim`, and the JavaScript engines. */
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
  // The module is passed to the glue: a URL in it would make bundlers look for a file.
  const target = ["--target", "web", "--omit-default-module-path"];
  await run("wasm-bindgen", [...target, "--out-dir", directory, "--out-name", "seenguard", compiled], { env });
  const added = addedTo(readFileSync(join(directory, "seenguard.js"), "utf8"));
  for (const [file, text] of Object.entries(added)) appendFileSync(join(directory, file), text);
  const wasmOpt = inProject("node_modules", "binaryen", "bin", "wasm-opt");
  const files = [join(directory, "seenguard_bg.wasm"), "--output", join(directory, "seenguard.wasm")];
  await run(process.execPath, [wasmOpt, ...files, ...flags]);
}

/**
 * Generates the JavaScript engine next to its module.
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

/** Reads wasm-opt's flags from Cargo.toml, which wasm-pack uses, too. */
export async function wasmOptFlags() {
  const { packages } = await cargoMetadata();
  const flags = packages.find(({ name }) => name === "seenguard")?.metadata?.["wasm-pack"]?.profile.release["wasm-opt"];
  if (flags === undefined) throw new CommandFailed("Cargo.toml has no flags for wasm-opt");
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
  if (json === undefined) throw new CommandFailed("cargo metadata failed: check Cargo.toml");
  /** @type {CargoMetadata} */
  const metadata = JSON.parse(json);
  return metadata;
}

/** Copies a glue for `seenguard/slim`, which runs either module, since a glue has the memory of one module. */
function copyGlue() {
  const read = (/** @type {string} */ name, /** @type {string} */ file) =>
    readFileSync(inProject("js", "generated", name, file), "utf8");
  if (read("client", "seenguard.js") !== read("formats", "seenguard.js"))
    throw new CommandFailed("the glues of formats.wasm and seenguard.wasm differ");
  for (const file of ["seenguard.js", "seenguard.d.ts"])
    writeWhole(inProject("js", "generated", "slim", file), read("formats", file));
}
