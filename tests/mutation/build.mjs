/** The package from the js/ of this directory: Stryker's copy, with its mutants. */
import { bundle } from "../../scripts/build/bundle.mjs";

await bundle();
