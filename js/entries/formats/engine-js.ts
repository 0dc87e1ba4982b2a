/** The entry `seenguard/formats/engine-js`: the same with all formats. */
export { createEngine } from "../../generated/formats/engine-js.js";
