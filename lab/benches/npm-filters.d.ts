/** The used types of npm's `bloomfilter`, which has none. */
declare module "bloomfilter" {
  export class BloomFilter {
    /** @param bits m, rounded up to a multiple of 32. @param hashes k. */
    constructor(bits: number, hashes: number);
    add(id: string): void;
    test(id: string): boolean;
    toJSON(): unknown;
    static fromJSON(value: unknown): BloomFilter;
    /** Makes a filter for a number of items at a false positive rate. */ static withTargetError(
      items: number,
      rate: number,
    ): BloomFilter;
  }
}

/**
 * The used types of npm's `bloom-filters`, a CommonJS package whose own types need others that it does not depend on.
 */
declare module "bloom-filters/dist/bloom/bloom-filter.js" {
  interface Filter {
    add(id: string): void;
    has(id: string): boolean;
    saveAsJSON(): object;
  }
  const module: {
    readonly default: {
      new (bits: number, hashes: number): Filter;
      fromJSON(value: object): Filter;
      /** Makes a filter for a number of items at a false positive rate. */ create(items: number, rate: number): Filter;
    };
  };
  export default module;
}
