/** The script for a plain tag: everything of `seenguard` as properties of the global `Seenguard`. */
export * from "./index.js";
