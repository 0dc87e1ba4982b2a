/** The entry `seenguard/formats`: the same as `seenguard`, with the filters of other libraries. */
import { withAllFormats } from "./all-formats.js";

export const SeenGuard = withAllFormats({ remedy: 'fallback: () => import("seenguard/formats/engine-js")' });

export { SeenGuardError } from "../errors.js";
