/** Prints what the module stops as JavaScript, in a process without WebAssembly. */
import { createEngine } from "../../../js/generated/client/engine-js.js";
import { stoppedBy } from "./page.mjs";

Reflect.deleteProperty(globalThis, "WebAssembly");

const { memory, ...classes } = createEngine();
console.log(JSON.stringify({ ...(await stoppedBy(classes, memory)), wasm: typeof WebAssembly }));
