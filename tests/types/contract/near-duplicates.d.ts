/** The contract of `seenguard/near-duplicates`. */
export { SeenGuardError } from "./seenguard.js";
export type { ErrorCode } from "./seenguard.js";
export declare function simhash(features: Iterable<string | readonly [feature: string, weight: number]>): string;
export declare class NearDuplicates {
  static create(options?: { distance?: number }): Promise<NearDuplicates>;
  groupOf(fingerprint: string, id: string): string;
  free(): void;
}
