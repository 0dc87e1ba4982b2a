/** The guard with the filters of other libraries, and with its Wasm module inlined. */
import { Engines, type EngineProvider } from "../engine/load.js";
import { bytesOf } from "../engine/wasm-text.js";
import { readFormats } from "../input/snapshot.js";
import { glue } from "../generated/formats/seenguard.js";
import inlinedWasm from "../generated/formats/seenguard.wasm";
import { seenGuardWith, type SeenGuardClass } from "../guard/guard.js";

/** Returns the class. `js`: how the entry loads the engine as JavaScript. */
export function withAllFormats(js: Pick<EngineProvider, "fallback" | "remedy">): SeenGuardClass {
  return seenGuardWith(
    new Engines({
      wasm: { glue, module: () => bytesOf(inlinedWasm) },
      ...js,
      readShards: readFormats,
    }),
  );
}
