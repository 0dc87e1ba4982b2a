/** `seenguard/formats`: the same as `seenguard`, with the filters of other libraries. */
export * from "./seenguard.js";
