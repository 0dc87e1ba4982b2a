/** What `seenguard/server` imports where no Wasm is compiled: its engine as JavaScript. */
export { createEngine } from "../../generated/server/engine-js.js";
