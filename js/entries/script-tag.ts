/** The package for a script tag: `seenguard/formats`, since a page without a bundler has no choice of entries. */
import { findEngine } from "../engine/script-tag.js";
import { withAllFormats } from "./all-formats.js";

export const SeenGuard = withAllFormats({
  fallback: findEngine,
  remedy: "a second script tag, for seenguard-engine-js.iife.js",
});

export { SeenGuardError } from "../errors.js";
