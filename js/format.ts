/** Checks what names the format of shards, and turns it into what the module takes. */
import type { ShardFormat } from "./seenguard.js";

/** A format as the module takes it: its number, and for go-bloomfilter k, or the capacity and the false positive rate. */
export type FormatArguments = readonly [kind: number, number: number, rate: number];

const NAMES = ["seenguard", "guava", "bits-and-blooms", "redisbloom"];
const GO_WITH_HASHES = 4;
const GO_WITH_CAPACITY = 5;
const MAX_HASHES = 255;
const MAX_CAPACITY = 2 ** 32 - 1;

/** Reads a format of any origin; calls `fail` with what is wrong with it. */
export function checkFormat(format: unknown, fail: (message: string) => never): FormatArguments {
  if (format === undefined) return [0, 0, 0];
  const kind = NAMES.indexOf(format as string);
  if (kind >= 0) return [kind, 0, 0];
  if (typeof format !== "object" || (format as { kind?: unknown } | null)?.kind !== "go-bloomfilter")
    fail(`format must be ${NAMES.map((name) => JSON.stringify(name)).join(", ")} or { kind: "go-bloomfilter", … }`);
  const { hashes, capacity, falsePositiveRate: rate } = format as Record<string, unknown>;
  const isWhole = (value: unknown, most: number): value is number =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most;
  if (capacity === undefined && rate === undefined && isWhole(hashes, MAX_HASHES)) return [GO_WITH_HASHES, hashes, 0];
  if (hashes === undefined && isWhole(capacity, MAX_CAPACITY) && typeof rate === "number" && rate > 0 && rate < 1)
    return [GO_WITH_CAPACITY, capacity, rate];
  return fail(
    "a go-bloomfilter format needs what its records do not tell: hashes, a whole number from 1 to 255, or capacity and falsePositiveRate as the server's filters are made with",
  );
}

/** Whether shards of this format are lists of texts: a dump's chunks. */
export function isChunked(format: unknown): format is "redisbloom" & ShardFormat {
  return format === "redisbloom";
}
