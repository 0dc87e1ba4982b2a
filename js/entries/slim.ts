/** The entry `seenguard/slim`: the app says where `seenguard.wasm` is, or `formats.wasm`. */
import { provideEngine } from "../engine/load.js";
import { compileSource } from "../engine/wasm-source.js";
import { readFormats } from "../formats.js";

provideEngine({
  glue: () => import("../generated/formats/seenguard.js"),
  wasm: compileSource,
  js: () => import("./engine-js.js"),
  readShards: readFormats,
});

export { SeenGuardError } from "../errors.js";
export { SeenGuard } from "../guard/guard.js";
