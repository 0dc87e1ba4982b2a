/** The entry `seenguard/formats` in React Native, where there is no WebAssembly. */
import { Engines } from "../../engine/load.js";
import { readFormats } from "../../input/snapshot.js";
import { seenGuardWith } from "../../guard/guard.js";
import * as textEncoding from "../../platform/text-encoding-polyfill.js";
import { provideTextEncoding } from "../../platform/text-encoding.js";
import { createEngine } from "./engine-js.js";

// Hermes has none.
provideTextEncoding(textEncoding);

export const SeenGuard = seenGuardWith(
  new Engines({
    fallback: () => Promise.resolve({ createEngine }),
    remedy: 'fallback: () => import("seenguard/formats/engine-js")',
    readShards: readFormats,
  }),
);

export { SeenGuardError } from "../../errors.js";
