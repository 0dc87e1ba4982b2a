/** The server's engine: inlined Wasm, and for runtimes that cannot compile it a file that is imported on demand. */
import { bytesOf } from "../engine/wasm-text.js";
import wasm from "../generated/server/seenguard.wasm";

export function wasmSource(): BufferSource | WebAssembly.Module {
  return bytesOf(wasm);
}

/** The engine as JavaScript, which replaces a Wasm module that did not start. */
export function loadScript(_whyNotWasm: Error): Promise<typeof import("../generated/server/engine-js.js")> {
  return import("../entries/server/engine-js.js");
}
