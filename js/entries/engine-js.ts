/** The entry `seenguard/engine-js`: the engine as JavaScript, which the others import where there is no WebAssembly. */
export { createEngine } from "../generated/js/seenguard.js";
