/**
 * `seenguard/near-duplicates`: groups of reposts and edited copies, over the engine of `seenguard/server`. Needs no DOM
 * types.
 */
export { SeenGuardError } from "./seenguard.js";
export type { ErrorCode } from "./seenguard.js";

/**
 * A Simhash of 64 bits, as 16 hexadecimal digits, of features (words, shingles) with weights: 0 to 2^53, by default 1.
 * A feature that occurs twice has the sum of both weights. Their order changes nothing. Without features it is all
 * zeros: leave such items out, or all of them are one group. Where no Wasm is compiled it throws `engine`
 * until `NearDuplicates.create()` or `ShardChain.create()` has resolved once.
 */
export declare function simhash(features: Iterable<string | readonly [feature: string, weight: number]>): string;
/** Finds what lies within `distance` bits (0 to 3) of fingerprints added before. */
export declare class NearDuplicates {
  private constructor();
  static create(options?: { /** @default 3 */ distance?: number }): Promise<NearDuplicates>;
  /**
   * The group of the nearest fingerprint within the distance, the first one added on a tie; else a new group of this
   * `id`. The fingerprint is added to the group, and later ones are compared with it, too: two members of a group may
   * differ in more bits than the distance.
   */
  groupOf(fingerprint: string, id: string): string;
  /** Gives the memory back. Nothing else removes fingerprints. */
  free(): void;
}
