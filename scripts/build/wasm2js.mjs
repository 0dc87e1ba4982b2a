/**
 * Generates the JavaScript engine, for platforms without WebAssembly: a module translated by binaryen's wasm2js, with
 * the glue that wasm-bindgen generated for it.
 *
 * Both become the body of one function, `createEngine`, so that each engine has its own memory and glue, like an
 * instance of a Wasm module.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inProject } from "../lib/paths.mjs";
import { CommandFailed, run } from "../lib/run.mjs";

/** The features that wasm2js supports, except those that are removed before. */
const features = ["bulk-memory", "bulk-memory-opt", "mutable-globals", "sign-ext"].map((name) => `--enable-${name}`);
/** With optimisation, without which the output is twice as large and half as fast. */
const wasm2jsFlags = [...features, "-O3"];

export const declarations = `import type { glue } from "./seenguard.js";

/** Creates a JavaScript engine with a memory of its own. */
export function createEngine(): typeof glue & { readonly memory: { readonly buffer: ArrayBuffer } };
`;

/**
 * Translates a module into JavaScript.
 * @param {string} directory the module's, with its glue
 * @param {readonly string[]} wasmOptFlags the flags with which it was optimised
 */
export async function translate(directory, wasmOptFlags) {
  const temporary = mkdtempSync(inProject("target", "wasm", "wasm2js-"));
  try {
    const [lowered, translated] = [join(temporary, "lowered.wasm"), join(temporary, "module.js")];
    const lowering = ["--llvm-nontrapping-fptoint-lowering", "--disable-multivalue"];
    const features = wasmOptFlags.filter((flag) => flag.startsWith("--enable-"));
    await binaryen("wasm-opt", join(directory, "seenguard.wasm"), "--output", lowered, ...features, ...lowering);
    await binaryen("wasm2js", lowered, "--output", translated, ...wasm2jsFlags);
    const [module = "", glue = ""] = [translated, join(directory, "seenguard.js")].map((file) =>
      readFileSync(file, "utf8"),
    );
    // The glue passes 64-bit numbers as BigInt, wasm2js as two numbers.
    if (module.includes("legalstub$"))
      throw new CommandFailed(`${directory}: an export has a 64-bit parameter or result`);
    return createEngineOf(module, glue);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/**
 * @param {string} name the name of one of binaryen's commands
 * @param {...string} args
 */
const binaryen = (name, ...args) =>
  run(process.execPath, [inProject("node_modules", "binaryen", "bin", name), ...args]);

/**
 * @param {string} module the output of wasm2js
 * @param {string} glue wasm-bindgen's, for the target web
 */
function createEngineOf(module, glue) {
  return `/* The engine as JavaScript: wasm2js of the module next to it, and its glue. */
export function createEngine() {
${withLoopsThatEndInTheirCondition(withLargestNumbers(withReportedGrowth(withoutModuleSyntax(module))))}
${withComparedViews(withoutModuleSyntax(glue))}
const { memory } = __wbg_finalize_init({ exports: asmFunc(__wbg_get_imports()) });
return { ...glue, memory };
}
`;
}

/**
 * Fixes wasm2js's saturating conversions, which treat the largest 32-bit number as out of range.
 * @param {string} module
 */
function withLargestNumbers(module) {
  // A module may lack either kind of conversion.
  const unsigned = module.replace(/(\S+) < 4294967295\.0 & \1 >= 0\.0/g, "$1 < 4294967296.0 & $1 >= 0.0");
  return unsigned.replace(/(Math_abs\(\S+\)) < 2147483647\.0/g, "$1 < 2147483648.0");
}

/**
 * Rewrites loops with their condition at the end. wasm2js writes `while (1) { …; break; }`, and the minifier of
 * rolldown 1.2.1 to 1.2.3 drops a `continue` at the end of a labelled block in such a loop, so that the code after the
 * block ends the loop.
 * @param {string} module
 */
function withLoopsThatEndInTheirCondition(module) {
  /** The indentation of each open loop. @type {string[]} */
  const open = [];
  const lines = module.split("\n").map((line) => {
    const [, indent = "", label = ""] = /^( *)(\w+ : )?while \(1\) \{$/.exec(line) ?? [];
    if (line.endsWith("while (1) {")) {
      open.push(indent);
      return `${indent}${label}do {`;
    }
    const end = open.at(-1);
    if (end === undefined || !line.startsWith(`${end}}`)) return line;
    open.pop();
    return `${end}} while (1)${line.slice(end.length + 1)}`;
  });
  if (open.length > 0) throw new CommandFailed("the end of a loop was not found in wasm2js's output");
  return lines.join("\n");
}

/**
 * Removes imports and exports, and the instance that wasm2js creates.
 * @param {string} source
 */
function withoutModuleSyntax(source) {
  return source
    .replace(/^import .*$/m, "")
    .replace(/^var retasmFunc = [^]*/m, "")
    .replace(/^export \{.*\};$/gm, "")
    .replace(/^export (?=class|const|function)/gm, "");
}

/**
 * Makes the glue compare its views with the memory's current array: unlike Wasm memory, an array does not detach them.
 * @param {string} glue
 */
function withComparedViews(glue) {
  return replaced(glue, /(cached\w+Memory0)\.(?:byteLength === 0|buffer\.detached === true)/g, (_, view) => {
    return `${view}.buffer !== wasm.memory.buffer`;
  });
}

/**
 * Makes a failed memory growth return -1, as in Wasm: wasm2js's code throws or ignores it.
 * @param {string} module
 */
function withReportedGrowth(module) {
  const growing = replaced(
    module,
    /^( +)if \(\(oldPages < newPages\) && \(newPages < 65536\)\) \{\n +var newBuffer = new ArrayBuffer\(.*\);$/gm,
    () => `if (newPages !== oldPages) {
   if (newPages < oldPages || newPages > 65535) return -1;
   try {
    var newBuffer = new ArrayBuffer(newPages * 65536);
   } catch (cause) {
    return -1;
   }`,
  );
  return replaced(growing, /return buffer\.byteLength >> 16;/g, () => "return buffer.byteLength / 65536 | 0;");
}

/**
 * @param {string} text
 * @param {RegExp} pattern must match
 * @param {(...found: string[]) => string} replacement
 */
function replaced(text, pattern, replacement) {
  if (text.search(pattern) < 0)
    throw new CommandFailed(`the output of wasm2js or wasm-bindgen does not match ${String(pattern)}`);
  return text.replace(pattern, replacement);
}
