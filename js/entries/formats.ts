/** The entry `seenguard/formats`: the same as `seenguard`, with the filters of other libraries. */
import { provideAllFormats } from "./all-formats.js";

provideAllFormats(() => import("./engine-js.js"));

export { SeenGuardError } from "../errors.js";
export { SeenGuard } from "../guard/guard.js";
