/** Checks the format of shards, and translates it to arguments of the engine. */

/**
 * A format as arguments of the engine: its number, and for go-bloomfilter k, or the capacity and the false positive
 * rate.
 */
export type FormatArguments = readonly [kind: number, number: number, rate: number];

const NAMES = ["seenguard", "guava", "bits-and-blooms", "redisbloom"];
/** The format of which a shard is several strings. */
export const REDISBLOOM = 3;
const GO = "go-bloomfilter";
const GO_WITH_HASHES = 4;
const GO_WITH_CAPACITY = 5;
const MAX_HASHES = 255;
const MAX_CAPACITY = 2 ** 32 - 1;

/** Reads an untrusted format; calls `fail` with the error. */
export function checkFormat(format: unknown = NAMES[0], fail: (message: string) => never): FormatArguments {
  const index = NAMES.indexOf(format as string);
  if (index >= 0) return [index, 0, 0];
  const { kind, hashes, capacity, falsePositiveRate: rate } = (format ?? {}) as Record<string, unknown>;
  const isWhole = (value: unknown, most: number): value is number =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most;
  if (kind === GO) {
    if (capacity === undefined && rate === undefined && isWhole(hashes, MAX_HASHES)) return [GO_WITH_HASHES, hashes, 0];
    if (hashes === undefined && isWhole(capacity, MAX_CAPACITY) && typeof rate === "number" && rate > 0 && rate < 1)
      return [GO_WITH_CAPACITY, capacity, rate];
  }
  return fail(
    `format must be "${NAMES.join('", "')}" or { kind: "${GO}" } with hashes, a whole number from 1 to 255, or with the capacity and falsePositiveRate of the server's filters`,
  );
}
