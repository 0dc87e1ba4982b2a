/** Has the server's engine start as JavaScript, as where no Wasm is compiled. */
import { ShardChain } from "seenguard/server";

const wasm = WebAssembly;
Reflect.deleteProperty(globalThis, "WebAssembly");
(await ShardChain.create()).free();
globalThis.WebAssembly = wasm;
