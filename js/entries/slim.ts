/** The entry `seenguard/slim`: the app says where `seenguard.wasm` is, or `formats.wasm`. */
import { provideEngine } from "../engine/load.js";
import { compileSource } from "../engine/wasm-source.js";
import { readFormats } from "../formats.js";
import { provideFormats } from "../guard/snapshot.js";

provideFormats(readFormats);
provideEngine({
  wasm: async (source) => ({
    glue: await import("../generated/formats/seenguard.js"),
    wasm: await compileSource(source),
  }),
  js: () => import("./engine-js.js"),
});

export { SeenGuardError } from "../errors.js";
export { SeenGuard } from "../guard/guard.js";
