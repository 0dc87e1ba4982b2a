/** The entry `seenguard/slim`: the app says where `seenguard.wasm` is, or `formats.wasm`. */
import { provideEngine } from "../engine/load.js";
import { compileSource } from "../engine/wasm-source.js";
import { readFormats } from "../formats.js";
import { provideFormats } from "../guard/snapshot.js";

provideFormats(readFormats);
provideEngine({
  wasm: async (source) => {
    // Where the glue is a file of its own, both are fetched at once.
    const [glue, wasm] = await Promise.all([import("../generated/formats/seenguard.js"), compileSource(source)]);
    return { glue, wasm };
  },
  js: () => import("./engine-js.js"),
});

export { SeenGuardError } from "../errors.js";
export { SeenGuard } from "../guard/guard.js";
