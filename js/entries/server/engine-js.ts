/** What the server's entries import where no Wasm is compiled: their engine as JavaScript. */
export { createEngine } from "../../generated/server/engine-js.js";
