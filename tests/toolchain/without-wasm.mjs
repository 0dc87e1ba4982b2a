/** Prints what the module stops as JavaScript, in a process without WebAssembly: `node without-wasm.mjs DIRECTORY`. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { stoppedBy } from "./page.mjs";

Reflect.deleteProperty(globalThis, "WebAssembly");

/** @param {string} name @returns {Promise<unknown>} */
const load = (name) => import(pathToFileURL(join(process.argv[2] ?? "", name)).href);

const module = /** @type {{ memory: { buffer: ArrayBuffer }, __wbindgen_start(): void }} */ (await load("module.js"));
const glue = /** @type {import("./page.mjs").Classes & { __wbg_set_wasm(wasm: unknown): void }} */ (
  await load("seenguard_bg.js")
);
glue.__wbg_set_wasm(module);
module.__wbindgen_start();
console.log(JSON.stringify({ ...(await stoppedBy(glue, module.memory)), wasm: typeof WebAssembly }));
