/** The entry `seenguard/formats`: the same as `seenguard`, with the filters of other libraries. */
import { provideEngine } from "../engine/load.js";
import { ownModule } from "../engine/wasm-hex.js";
import { compileSource } from "../engine/wasm-source.js";
import { readFormats } from "../formats.js";
import ownWasm from "../generated/formats/seenguard.wasm";
import { provideFormats } from "../guard/snapshot.js";

provideFormats(readFormats);
provideEngine({
  wasm: async (source) => ({
    glue: await import("../generated/formats/seenguard.js"),
    wasm: source === undefined ? ownModule(ownWasm) : await compileSource(source),
  }),
  js: () => import("./engine-js.js"),
});

export { SeenGuardError } from "../errors.js";
export { SeenGuard } from "../guard/guard.js";
