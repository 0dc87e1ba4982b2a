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
    const exports = { __proto__: null };
`;

/** Engines refuse to instantiate large modules synchronously on a page's main thread, so this is asynchronous. */
const init = `    async function init({ module_or_path: module }) {
        const instance = await WebAssembly.instantiate(module, __wbg_get_imports());
        return __wbg_finalize_init(instance, module);
    }

    return Object.assign(exports, { init });
}
`;

const types = `/** Made by the build: what one Wasm instance offers. */
import type * as classes from "./classes.js";

export type * from "./classes.js";

export type Glue = typeof classes & {
  /** Instantiates the compiled module. Once for each glue. */
  init(options: { module_or_path: WebAssembly.Module }): Promise<{ readonly memory: WebAssembly.Memory }>;
};

/** A glue of its own for one Wasm instance. */
export declare function createGlue(): Glue;
`;

/**
 * @param {string} script what wasm-bindgen wrote for "no-modules"
 * @param {string} declarations and its declarations for "web"
 */
export function toFactory(script, declarations) {
  const { before, between } = cut(script, loading, closing);
  if (!between.includes("function initSync(") || !between.includes("async function __wbg_init("))
    throw changed(loading);
  const [head, body] = halves(before, opening);
  if (head.trim() !== "") throw changed(opening);
  const [start, rest] = halves(body, scriptSource);
  return {
    script: factory + start + rest + init,
    types,
    classTypes: `/** Made by the build: the classes of the Wasm module, as types. */\n${halves(declarations, "export type InitInput = ")[0]}`,
  };
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
