/**
 * `seenguard/slim`: the same as `seenguard`, without the Wasm in it. The option `wasm` of `SeenGuard.open` says where
 * `seenguard/seenguard.wasm` is, or `seenguard/formats.wasm`; later calls may leave it out. With `engine: "js"` it
 * needs none.
 */
export * from "./seenguard.js";
