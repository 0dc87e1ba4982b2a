/** The entry `seenguard`: the guard, with its Wasm module inlined. It knows the native format. */
import { Engines } from "../engine/load.js";
import { bytesOf } from "../engine/wasm-text.js";
import {
  ApplyStatus,
  checksum,
  Event,
  Guard,
  instantiate,
  Place,
  SeenBy,
  Status,
  Step,
  TextBatch,
  Timer,
} from "../generated/client/seenguard.js";
import inlinedWasm from "../generated/client/seenguard.wasm";
import { seenGuardWith } from "../guard/guard.js";
import { readNative } from "../input/snapshot.js";

export const SeenGuard = seenGuardWith(
  new Engines({
    wasm: {
      glue: { instantiate, checksum, ApplyStatus, Event, Guard, Place, SeenBy, Status, Step, TextBatch, Timer },
      module: () => bytesOf(inlinedWasm),
    },
    remedy: 'fallback: () => import("seenguard/engine-js")',
    readShards: readNative,
  }),
);

export { SeenGuardError } from "../errors.js";
