/** The filters of other libraries in this folder, and each library's results. */
import { readFileSync } from "node:fs";
import type { ShardFormat } from "seenguard";
import type { ChainOptions } from "seenguard/server";

/** The fields that every case of such a file has. */
interface ForeignCase {
  readonly capacity: number;
  readonly false_positive_rate: number;
  readonly inserted: number;
  /** One character for each of `ids`: "1" where the library finds it contained. */
  readonly answers: string;
}

export interface ForeignCases {
  readonly "go-bloomfilter": ForeignCase & { readonly hashes: number; readonly bits: number; readonly max_shards: number; readonly records: readonly string[] };
  readonly guava: ForeignCase & { readonly base64: string };
  readonly "bits-and-blooms": ForeignCase & { readonly base64: string; readonly json: string };
  readonly redisbloom: ForeignCase & { readonly scandump: readonly (readonly [iterator: number, chunk: string])[] };
}

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8"));

/** The 6,000 ids that each case was queried with; it has inserted the first of them. */
export const ids = read("ids") as readonly string[];

export function casesOf<Format extends keyof ForeignCases>(format: Format): readonly ForeignCases[Format][] {
  return (read(format) as { cases: ForeignCases[Format][] }).cases;
}

/** A case as a snapshot. */
export interface ForeignFilter {
  readonly name: string;
  readonly format: ShardFormat;
  readonly shards: readonly (string | readonly string[])[];
  readonly ids: readonly string[];
  /** One character an id: `1` where the library finds it contained. */
  readonly answers: string;
  readonly inserted: number;
  /** Options with which a chain of this package writes the same. */
  readonly chain?: ChainOptions;
}

type Read = Pick<ForeignFilter, "format" | "shards" | "chain">;

/** Every case of the four files; those of bits-and-blooms as binary and as JSON. */
export function foreignFilters(): ForeignFilter[] {
  return [
    ...filtersOf("go-bloomfilter", readGo),
    ...filtersOf("guava", readGuava),
    ...filtersOf("bits-and-blooms", ({ base64, json }) =>
      [base64, json].map((shard) => ({ format: "bits-and-blooms", shards: [shard] })),
    ),
    ...filtersOf(
      "redisbloom",
      ({ scandump }) => [{ format: "redisbloom", shards: [scandump.map(([, chunk]) => chunk)] }],
      ids.map(asTheDumpsHaveIt),
    ),
  ];
}

function filtersOf<Format extends keyof ForeignCases>(
  file: Format,
  read: (from: ForeignCases[Format]) => Read[],
  askedIds = ids,
): ForeignFilter[] {
  return casesOf(file).flatMap((from, index) =>
    read(from).map((filter, way) => {
      const name = `${file}.json, case ${String(index)}${way === 0 ? "" : " as JSON"}`;
      return { name, ids: askedIds, answers: from.answers, inserted: from.inserted, ...filter };
    }),
  );
}

function readGo(from: ForeignCases["go-bloomfilter"]): Read[] {
  const { capacity, false_positive_rate: falsePositiveRate, max_shards: shards, records } = from;
  const format = { kind: "go-bloomfilter", capacity, falsePositiveRate } as const;
  return [{ format, shards: records, chain: { format, shards } }];
}

function readGuava(from: ForeignCases["guava"]): Read[] {
  const { base64, capacity, false_positive_rate: falsePositiveRate, inserted } = from;
  const read = { format: "guava", shards: [base64] } as const;
  // A chain of ours seals what is full.
  return [inserted > capacity ? read : { ...read, chain: { format: "guava", capacity, falsePositiveRate } }];
}

/**
 * The program that wrote redisbloom.json skipped the tab with which some ids begin, and read the end of the line as
 * their last byte.
 */
const asTheDumpsHaveIt = (id: string) => (id.startsWith("\t") ? `${id.slice(1)}\n` : id);
