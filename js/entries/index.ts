/** The entry `seenguard`: the guard, with its Wasm module inlined. It knows the native format. */
import { provideEngine } from "../engine/load.js";
import { ownModule } from "../engine/wasm-hex.js";
import { compileSource } from "../engine/wasm-source.js";
import ownWasm from "../generated/client/seenguard.wasm";
import { readNative } from "../guard/snapshot.js";

provideEngine({
  glue: () => import("../generated/client/seenguard.js"),
  wasm: (source) => (source === undefined ? ownModule(ownWasm) : compileSource(source)),
  js: () => import("./engine-js.js"),
  readShards: readNative,
});

export { SeenGuardError } from "../errors.js";
export { SeenGuard } from "../guard/guard.js";
