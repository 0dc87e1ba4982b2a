/** What the benchmarks use of npm's `bloomfilter`, which brings no types. */
declare module "bloomfilter" {
  export class BloomFilter {
    /** @param bits m, rounded up to a multiple of 32. @param hashes k. */
    constructor(bits: number, hashes: number);
    add(id: string): void;
    test(id: string): boolean;
    toJSON(): unknown;
    static fromJSON(value: unknown): BloomFilter;
    /** For so many items at such a false positive rate. */
    static withTargetError(items: number, rate: number): BloomFilter;
  }
}
