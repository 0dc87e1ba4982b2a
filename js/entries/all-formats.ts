/** The engine that knows the filters of other libraries, for the entries that bring it. */
import { provideEngine, type EngineProvider } from "../engine/load.js";
import { ownModule } from "../engine/wasm-hex.js";
import { compileSource } from "../engine/wasm-source.js";
import { readFormats } from "../formats.js";
import ownWasm from "../generated/formats/seenguard.wasm";

/** `js`: how the entry gets at the engine as JavaScript. */
export function provideAllFormats(js: NonNullable<EngineProvider["js"]>): void {
  provideEngine({
    glue: () => import("../generated/formats/seenguard.js"),
    wasm: (source) => (source === undefined ? ownModule(ownWasm) : compileSource(source)),
    js,
    readShards: readFormats,
  });
}
