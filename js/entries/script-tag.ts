/** The package for a script tag: `seenguard/formats`, since a page without a bundler has no choice of entries. */
import { provideAllFormats } from "./all-formats.js";
import { findEngine } from "../engine/script-tag.js";

provideAllFormats(findEngine);

export { SeenGuardError } from "../errors.js";
export { SeenGuard } from "../guard/guard.js";
