/** Bundles js/ into dist/, in the copy of the project in which Stryker has put its mutants. */
import { bundle } from "../build/bundle.mjs";

await bundle();
