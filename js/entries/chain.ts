/** What pages load when they make a `ShardChain`: the class and its Wasm module, in the native format. */
import { compileHex, provideGlue, provideWasm, type CreateGlue } from "../engine.js";
import { createGlue } from "../generated/chain/glue.js";
import { wasmHex } from "../generated/chain/wasm-hex.js";

provideGlue(createGlue as CreateGlue);
provideWasm(() => compileHex(wasmHex));

export { ShardChain } from "../chain.js";
export { SeenGuardError } from "../errors.js";
