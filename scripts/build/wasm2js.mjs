/**
 * The engine as JavaScript, for where there is no WebAssembly: what binaryen's wasm2js makes of a module, behind the
 * glue that wasm-bindgen generated for that module.
 *
 * Both become the body of one function, `createEngine`: each engine has its own memory and its own glue, as each
 * instance of a Wasm module has.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inProject } from "../lib/paths.mjs";
import { CommandFailed, run } from "../lib/run.mjs";

/** What wasm2js reads, besides what is removed before. */
const features = ["bulk-memory", "bulk-memory-opt", "mutable-globals", "sign-ext"].map((name) => `--enable-${name}`);
/** Without optimisation the product is twice as large, and half as quick. */
const wasm2jsFlags = [...features, "-O3"];

export const declarations = `import type { glue } from "./seenguard.js";

/** The engine as JavaScript, with a memory of its own. */
export function createEngine(): typeof glue & { readonly memory: { readonly buffer: ArrayBuffer } };
`;

/**
 * Translates a module into JavaScript.
 * @param {string} directory the module's, with its glue
 * @param {readonly string[]} wasmOptFlags with which it was optimised
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
    // The glue passes a BigInt for 64 bits, and wasm2js takes two numbers.
    if (module.includes("legalstub$"))
      throw new CommandFailed(`${directory}: something exported takes or returns 64 bits`);
    return createEngineOf(module, glue);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/**
 * @param {string} name of one of binaryen's commands
 * @param {...string} args
 */
const binaryen = (name, ...args) =>
  run(process.execPath, [inProject("node_modules", "binaryen", "bin", name), ...args]);

/**
 * @param {string} module wasm2js's product
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
 * The lowering of saturating conversions takes the largest 32-bit number for one too many.
 * @param {string} module
 */
function withLargestNumbers(module) {
  // A module may have no conversion of either kind.
  const unsigned = module.replace(/(\S+) < 4294967295\.0 & \1 >= 0\.0/g, "$1 < 4294967296.0 & $1 >= 0.0");
  return unsigned.replace(/(Math_abs\(\S+\)) < 2147483647\.0/g, "$1 < 2147483648.0");
}

/**
 * wasm2js writes each loop as `while (1) { …; break; }`. The minifier of rolldown 1.2.1 to 1.2.3 drops a `continue` at
 * the end of a labelled block in such a loop, and what follows the block ends the loop. One that has its condition at
 * its end is the same to every other engine, and is left alone by that minifier.
 * @param {string} module
 */
function withLoopsThatEndInTheirCondition(module) {
  /** Of the loops that are open: how far each is indented. @type {string[]} */
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
  if (open.length > 0) throw new CommandFailed("what wasm2js makes has loops whose end was not found");
  return lines.join("\n");
}

/**
 * Without imports and exports, and without the instance that wasm2js makes by itself.
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
 * A memory that is an array does not detach the views of what it was before it grew: they are compared with it.
 * @param {string} glue
 */
function withComparedViews(glue) {
  return replaced(glue, /(cached\w+Memory0)\.(?:byteLength === 0|buffer\.detached === true)/g, (_, view) => {
    return `${view}.buffer !== wasm.memory.buffer`;
  });
}

/**
 * Growth for which there is no memory answers -1, as in Wasm: wasm2js's throws, or says nothing.
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
 * @param {RegExp} pattern which has to be found
 * @param {(...found: string[]) => string} replacement
 */
function replaced(text, pattern, replacement) {
  if (text.search(pattern) < 0)
    throw new CommandFailed(`what wasm2js and wasm-bindgen make has no ${String(pattern)} in it`);
  return text.replace(pattern, replacement);
}
