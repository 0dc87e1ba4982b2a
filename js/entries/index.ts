/** The entry `seenguard`: the Wasm module is inlined, so nothing has to be found, fetched or served. */
import { compileHex, provideWasm } from "../engine.js";
import { wasmHex } from "../generated/wasm-hex.js";

provideWasm(() => compileHex(wasmHex));

export { ShardChain } from "../chain.js";
export { SeenGuardError } from "../errors.js";
export { Feed } from "../feed.js";
export { SeenGuard } from "../guard.js";
