/** The entry `seenguard` in React Native, where there is no WebAssembly: the guard over the engine as JavaScript. */
import { Engines } from "../engine/load.js";
import { seenGuardWith } from "../guard/guard.js";
import { readNative } from "../input/snapshot.js";
import * as textEncoding from "../platform/text-encoding-polyfill.js";
import { provideTextEncoding } from "../platform/text-encoding.js";
import { createEngine } from "./engine-js.js";

// Hermes has none.
provideTextEncoding(textEncoding);

export const SeenGuard = seenGuardWith(
  new Engines({
    fallback: () => Promise.resolve({ createEngine }),
    remedy: 'fallback: () => import("seenguard/engine-js")',
    readShards: readNative,
  }),
);

export { SeenGuardError } from "../errors.js";
