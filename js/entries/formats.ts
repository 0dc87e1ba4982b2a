/**
 * The entry `seenguard/formats`: the same as `seenguard`, with a Wasm module that knows the filters of other libraries and has all in one file,
 * `ShardChain` too. In Node it is `seenguard`.
 */
import { compileHex, provideGlue, provideWasm } from "../engine.js";
import { createGlue } from "../generated/whole/glue.js";
import { wasmHex } from "../generated/whole/wasm-hex.js";

provideGlue(createGlue);
provideWasm(() => compileHex(wasmHex));

export { ShardChain } from "../chain.js";
export { SeenGuardError } from "../errors.js";
export { Feed } from "../feed.js";
export { SeenGuard } from "../guard.js";
