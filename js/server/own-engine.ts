/** The engine as `seenguard/server` and `seenguard/near-duplicates` bring it: Wasm as text, and for where none is compiled a file of its own. */
import { bytesOf } from "../engine/wasm-text.js";
import wasm from "../generated/server/seenguard.wasm";

export function ownWasm(): BufferSource | WebAssembly.Module {
  return bytesOf(wasm);
}

/** The engine as JavaScript, which takes the place of the Wasm that did not start. */
export function loadScript(_whyNotWasm: Error): Promise<typeof import("../generated/server/engine-js.js")> {
  return import("../entries/server/engine-js.js");
}
