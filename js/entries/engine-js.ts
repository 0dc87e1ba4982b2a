/** The entry `seenguard/engine-js`: the engine as JavaScript, for the option `fallback` of `seenguard`. */
export { createEngine } from "../generated/client/engine-js.js";
