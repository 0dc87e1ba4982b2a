/**
 * `seenguard/near-duplicates`: groups of reposts and edited copies, over the engine of `seenguard/server`. Needs no DOM
 * types.
 */
export { SeenGuardError } from "./seenguard.js";
export type { ErrorCode } from "./seenguard.js";

/**
 * A Simhash of 64 bits, as 16 hexadecimal digits, of features (words, shingles) with weights: 0 to 2^53, by default 1.
 * The weights of a feature that occurs twice are added; the order of features does not matter. Without features it is
 * all zeros: leave such items out, or they all form one group. Where Wasm cannot be compiled, it throws `engine` until
 * `NearDuplicates.create()` or `ShardChain.create()` has resolved once.
 */
export declare function simhash(features: Iterable<string | readonly [feature: string, weight: number]>): string;
/** Finds fingerprints added before that differ in at most `distance` bits (0 to 3). */
export declare class NearDuplicates {
  private constructor();
  static create(options?: { /** @default 3 */ distance?: number }): Promise<NearDuplicates>;
  /**
   * Returns the group of the nearest fingerprint within the distance (on a tie, of the one added first), else a new
   * group of this `id`. Adds the fingerprint to the group; later ones are compared with it, too, so two members of a
   * group may differ in more bits than the distance.
   */
  groupOf(fingerprint: string, id: string): string;
  /** Frees the memory. Nothing else removes fingerprints. */
  free(): void;
}
