/** Starts the server's engine as JavaScript, as on a platform without Wasm. */
import { ShardChain } from "seenguard/server";

const wasm = WebAssembly;
Reflect.deleteProperty(globalThis, "WebAssembly");
(await ShardChain.create()).free();
globalThis.WebAssembly = wasm;
