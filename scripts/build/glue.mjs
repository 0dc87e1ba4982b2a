/**
 * Turns wasm-bindgen's glue into a factory.
 *
 * The glue keeps one Wasm instance in variables of its module, for ever. After a trap that instance is not to be trusted, and a new one is needed
 * beside the objects of the old; so here each call of `createGlue()` has such variables of its own. What loads the module from somewhere goes: the
 * package does that itself.
 */

const opening = "let wasm_bindgen = (function(exports) {\n";
const scriptSource = `    let script_src;
    if (typeof document !== 'undefined' && document.currentScript !== null) {
        script_src = new URL(document.currentScript.src, location.href).toString();
    }
`;
const loading = "    async function __wbg_load(module, imports) {\n";
const closing = "    return Object.assign(__wbg_init, { initSync }, exports);\n})({ __proto__: null });\n";

const factory = `/** Made from wasm-bindgen's glue by the build. */
export function createGlue() {
    const exports = {};
`;

/** What keeps the instance, of which nothing but the exports is needed. */
const keeping = "    let wasmModule, wasmInstance, wasm;\n";

/**
 * Engines refuse to instantiate large modules synchronously on a page's main thread, so this is asynchronous.
 * @param {readonly string[]} offered what of the instance is called without glue
 */
const init = (offered) => `    let wasm;
    exports.init = async (module) => {
        wasm = (await WebAssembly.instantiate(module, __wbg_get_imports())).exports;
        wasm.__wbindgen_start();
        return { ${offered.map((name) => `${name}: wasm.${name}`).join(", ")} };
    };

    return exports;
}
`;

/**
 * What stands for functions of wasm-bindgen's that do the same with more code: views of the memory are made quickly enough not to be kept, and a
 * text is encoded as a whole.
 * @type {Readonly<Record<string, string>>}
 */
const smaller = {
  "getDataViewMemory0()": "return new DataView(wasm.memory.buffer);",
  "getUint8ArrayMemory0()": "return new Uint8Array(wasm.memory.buffer);",
  "getFloat64ArrayMemory0()": "return new Float64Array(wasm.memory.buffer);",
  "getUint32ArrayMemory0()": "return new Uint32Array(wasm.memory.buffer);",
  "passStringToWasm0(arg, malloc, realloc)": `
        const bytes = cachedTextEncoder.encode(arg);
        const pointer = malloc(bytes.length, 1) >>> 0;
        getUint8ArrayMemory0().set(bytes, pointer);
        WASM_VECTOR_LEN = bytes.length;
        return pointer;`,
};

/** How a text is taken that the module gives away, and in `takeText` more briefly: whoever traps while decoding has no memory to give back. */
const takingText =
  /let (\w+);\s+let (\w+);\s+try \{\s+const ret = (.*);\s+\1 = ret\[0\];\s+\2 = ret\[1\];\s+return getStringFromWasm0\(ret\[0\], ret\[1\]\);\s+\} finally \{\s+wasm\.__wbindgen_free\(\1, \2, 1\);\s+\}/g;
const takingOptionalText =
  /let (\w+);\s+if \(ret\[0\] !== 0\) \{\s+\1 = getStringFromWasm0\(ret\[0\], ret\[1\]\);\s+wasm\.__wbindgen_free\(ret\[0\], ret\[1\] \* 1, 1\);\s+\}\s+return \1;/g;
const takeText = `
    function takeText([pointer, length]) {
        const text = getStringFromWasm0(pointer, length);
        wasm.__wbindgen_free(pointer, length, 1);
        return text;
    }
`;

/** A function that hands numbers on to the module's, which is called as it is. */
const plainFunction = /^ {4}function (\w+)\(.*\) \{\n[^]*?^ {4}\}\n {4}exports\.\1 = \1;\n/gm;

/** A method that gives its arguments to a function of the module as they are, and returns what that returns. */
const passingOn =
  /^( {8}\w+)\(.*\) \{\n {12}(?:const ret = )?(wasm\.\w+\(this\.__wbg_ptr)(?:, \w+)*\);\n(?: {12}return ret;\n)? {8}\}/gm;
const passOn = "$1(...args) {\n            return $2, ...args);\n        }";

/** A constructor's object is what JavaScript makes, and is given its pointer. */
const constructing = /const ret = (wasm\..*);\n {12}this\.__wbg_ptr = ret;\n {12}return this;/g;

/** A number that is converted before it is used, once. */
const convertedNumber = /^ *const (val\d+) = \+(\w+);\n([^]*?)\b\1\b/m;

const types = `/** Made by the build: what one Wasm instance offers. */
import type * as classes from "./classes.js";

export type * from "./classes.js";

export type Glue = typeof classes & {
  /** Instantiates the compiled module. Once for each glue. */
  init(module: WebAssembly.Module): Promise<classes.InitOutput>;
};

/** A glue of its own for one Wasm instance. */
export declare function createGlue(): Glue;
`;

/**
 * The short names that wasm-opt gave to what the module imports and exports.
 * @typedef {object} ShortNames
 * @property {readonly (readonly [module: string, name: string, short: string])[]} imports
 * @property {readonly (readonly [name: string, short: string])[]} exports
 */

/**
 * @param {string} script what wasm-bindgen wrote for "no-modules"
 * @param {string} declarations and its declarations for "web"
 * @param {ShortNames} names
 */
export function toFactory(script, declarations, names) {
  const { before, between } = cut(script, loading, closing);
  if (!between.includes("function initSync(") || !between.includes("async function __wbg_init("))
    throw changed(loading);
  const [head, body] = halves(before, opening);
  if (head.trim() !== "") throw changed(opening);
  const [start, rest] = halves(body, scriptSource);
  const [all, kept] = halves(start + rest, keeping);
  if (!kept.includes("wasm.__wbindgen_start();")) throw changed("wasm.__wbindgen_start();");
  const plain = [...all.matchAll(plainFunction)].map(([, name = ""]) => name);
  const classes = withoutDispose(halves(declarations, "export type InitInput = ")[0]);
  return {
    script: factory + shorten(simplify(all) + init(["memory", ...plain]), names),
    types,
    classTypes: `/** Made by the build: the classes of the Wasm module and what it exports, as types. */\n${classes}\n${outputOf(declarations)}`,
  };
}

/**
 * Leaves out what this package never uses, and says the rest more briefly: no page should load it.
 * @param {string} body
 */
function simplify(body) {
  let simple = withoutDispose(body)
    .replace(plainFunction, "")
    // TypeScript has checked the classes of arguments, and the engine converts numbers itself.
    .replace(/^ *_assertClass\(.*\);\n/gm, "")
    .replace(/^ *__proto__: null,\n/gm, "")
    .replace(/^ *cached.*(?: = null;|\.decode\(\);)\n/gm, "")
    .replace(/ \/ 1\b/g, "")
    .replace("return decodeText(", "return cachedTextDecoder.decode(")
    .replace(takingText, "return takeText($3);")
    .replace(takingOptionalText, "return ret[0] === 0 ? undefined : takeText(ret);");
  for (let before = ""; before !== simple;) {
    before = simple;
    simple = simple.replace(convertedNumber, "$3$2");
  }
  simple = simple.replace(passingOn, passOn);
  for (const [signature, body] of Object.entries(smaller)) simple = withBody(simple, signature, body);
  if (simple.includes("takeText(")) simple += takeText;
  return simple.replace(constructing, "this.__wbg_ptr = $1;").replace(/\b__wbg_ptr\b/g, "pointer");
}

/** @param {string} text */
function withoutDispose(text) {
  return text.replace(/^.*\[Symbol\.dispose\].*\n/gm, "");
}

/**
 * Replaces a function's body. A function that the glue does not have needs none.
 * @param {string} text
 * @param {string} signature
 * @param {string} body
 */
function withBody(text, signature, body) {
  const name = signature.slice(0, signature.indexOf("("));
  if (!text.includes(`function ${name}(`)) return text;
  const opening = `    function ${signature} {\n`;
  const [before, rest] = halves(text, opening);
  return `${before}${opening}${body}${rest.slice(rest.indexOf("\n    }\n"))}`;
}

/** @param {string} declarations */
function outputOf(declarations) {
  const [, rest] = halves(declarations, "export interface InitOutput {");
  return `export interface InitOutput {${rest.slice(0, rest.indexOf("\n}\n"))}\n}\n`;
}

/**
 * Calls everything by its short name.
 * @param {string} body
 * @param {ShortNames} names
 */
function shorten(body, { imports, exports }) {
  const shortNames = new Map(exports.map(([name, short]) => [name, short]));
  let short = body.replace(/\bwasm\.(\w+)/g, (_, name) => {
    const found = shortNames.get(String(name));
    if (found === undefined) throw changed(`wasm.${String(name)}`);
    return `wasm.${found}`;
  });
  for (const [module, name, found] of imports) {
    if (name === "" || module === "") throw changed("imports");
    short = halves(short, ` ${name}: function(`).join(` ${found}: function(`);
  }
  const modules = new Set(imports.map(([module]) => JSON.stringify(module)));
  for (const module of modules) short = halves(short, ` ${module}: `).join(" a: ");
  return short;
}

/**
 * @param {string} text
 * @param {string} from
 * @param {string} to
 */
function cut(text, from, to) {
  const [before, rest] = halves(text, from);
  const [between, after] = halves(rest, to);
  if (after.trim() !== "") throw changed(to);
  return { before, between };
}

/**
 * What comes before and after `mark`, which must be there exactly once.
 * @param {string} text
 * @param {string} mark
 * @returns {[string, string]}
 */
function halves(text, mark) {
  const [before, after, ...more] = text.split(mark);
  if (before === undefined || after === undefined || more.length > 0) throw changed(mark);
  return [before, after];
}

/** @param {string} mark */
function changed(mark) {
  return new Error(
    `wasm-bindgen's glue is not as scripts/build/glue.mjs knows it: this must be there exactly once, and isn't:\n${mark}`,
  );
}
