/** The entry `seenguard`: the guard, with its Wasm module inlined. It reads the native format. */
import { Engines } from "../engine/load.js";
import { bytesOf } from "../engine/wasm-text.js";
import { glue } from "../generated/client/seenguard.js";
import inlinedWasm from "../generated/client/seenguard.wasm";
import { seenGuardWith } from "../guard/guard.js";
import { readNative } from "../input/snapshot.js";

export const SeenGuard = seenGuardWith(
  new Engines({
    wasm: { glue, module: () => bytesOf(inlinedWasm) },
    remedy: 'fallback: () => import("seenguard/engine-js")',
    readShards: readNative,
  }),
);

export { SeenGuardError } from "../errors.js";
