/**
 * The entry `seenguard`, but for Node: the Wasm module is inlined, so nothing has to be found, fetched or served. It knows the native format alone,
 * which most pages do with; Node gets `formats.ts`, since a server's bytes do not matter.
 */
import { compileHex, provideWasm } from "../engine.js";
import { wasmHex } from "../generated/page/wasm-hex.js";

provideWasm(() => compileHex(wasmHex));

export * from "./slim.js";
