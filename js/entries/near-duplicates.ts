/** The entry `seenguard/near-duplicates`: groups of reposts and edited copies, by the module of `seenguard/server`. */
export { SeenGuardError } from "../errors.js";
export { NearDuplicates, simhash } from "../near-duplicates/near-duplicates.js";
