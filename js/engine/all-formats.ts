/** The engine that knows the filters of other libraries, for the entries that bring it. */
import { readFormats } from "../formats.js";
import ownWasm from "../generated/formats/seenguard.wasm";
import { provideFormats } from "../guard/snapshot.js";
import { provideEngine, type EngineProvider } from "./load.js";
import { ownModule } from "./wasm-hex.js";
import { compileSource } from "./wasm-source.js";

/** `js`: how the entry gets at the engine as JavaScript. */
export function provideAllFormats(js: NonNullable<EngineProvider["js"]>): void {
  provideFormats(readFormats);
  provideEngine({
    wasm: async (source) => ({
      glue: await import("../generated/formats/seenguard.js"),
      wasm: source === undefined ? ownModule(ownWasm) : await compileSource(source),
    }),
    js,
  });
}
