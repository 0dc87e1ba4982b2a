/** What pages load when they make a `ShardChain`: the class and its Wasm module, in the native format. */
import { provideWasm } from "../engine/engine.js";
import { wasmText } from "../generated/chain/wasm-text.js";
import { compileText } from "../wasm-text.js";

provideWasm(compileText.bind(undefined, wasmText));

export { ShardChain } from "../chain.js";
export { SeenGuardError } from "../errors.js";
