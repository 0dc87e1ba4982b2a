/** The entry `seenguard/slim`: the app passes the source of `seenguard.wasm` or `formats.wasm`. */
import { Engines } from "../engine/load.js";
import { compileSource } from "../engine/wasm-source.js";
import { readFormats } from "../input/snapshot.js";
import { glue } from "../generated/slim/seenguard.js";
import { seenGuardWith } from "../guard/guard.js";
import { anything } from "../input/options.js";

export const SeenGuard = seenGuardWith(
  new Engines({
    wasm: { glue, module: compileSource },
    remedy: 'fallback: () => import("seenguard/engine-js"), or "seenguard/formats/engine-js"',
    readShards: readFormats,
  }),
  { wasm: anything },
);

export { SeenGuardError } from "../errors.js";
