/** The entry `seenguard/formats`: the same as `seenguard`, with the Wasm module that knows the filters of other libraries, too. In Node it is `seenguard`. */
import { compileHex, provideWasm } from "../engine.js";
import { wasmHex } from "../generated/formats-wasm-hex.js";

provideWasm(() => compileHex(wasmHex));

export * from "./slim.js";
