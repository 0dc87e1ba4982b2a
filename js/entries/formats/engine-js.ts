/** The entry `seenguard/formats/engine-js`: the engine as JavaScript, with all formats. */
export { createEngine } from "../../generated/formats/engine-js.js";
