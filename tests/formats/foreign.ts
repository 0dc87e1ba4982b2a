/** The filters of other libraries in tests/vectors, as snapshots and with what the library answers. */
import { readFileSync } from "node:fs";
import type { ShardFormat } from "seenguard";
import type { ChainOptions } from "seenguard/server";

export interface ForeignFilter {
  readonly name: string;
  readonly format: ShardFormat;
  readonly shards: readonly (string | readonly string[])[];
  readonly ids: readonly string[];
  /** One character an id: `1` where the library answers "contained". */
  readonly answers: string;
  readonly inserted: number;
  /** With these, a chain of ours writes the same. */
  readonly chain?: ChainOptions;
}

interface Case {
  answers: string;
  inserted: number;
  capacity: number;
  false_positive_rate: number;
  hashes?: number;
  max_shards?: number;
  records?: string[];
  base64?: string;
  json?: string;
  scandump?: [number, string][];
}

type Read = Pick<ForeignFilter, "format" | "shards"> & { chain?: ChainOptions };

/** Every case of the four files; those of bits-and-blooms as binary and as JSON. */
export function foreignFilters(): ForeignFilter[] {
  const ids = parse("ids") as string[];
  return [
    ...filtersOf("go-bloomfilter", ids, readGo),
    ...filtersOf("guava", ids, readGuava),
    ...filtersOf("bits-and-blooms", ids, readBitsAndBlooms),
    ...filtersOf("redisbloom", ids.map(asTheDumpsHaveIt), readRedis),
  ];
}

function filtersOf(file: string, ids: readonly string[], read: (from: Case) => Read[]): ForeignFilter[] {
  const { cases } = parse(file) as { cases: Case[] };
  return cases.flatMap((from, index) =>
    read(from).map((filter, way) => {
      const name = `${file}.json, case ${String(index)}${way === 0 ? "" : " as JSON"}`;
      return { name, ids, answers: from.answers, inserted: from.inserted, ...filter };
    }),
  );
}

function readGo(from: Case): Read[] {
  const { capacity, false_positive_rate: falsePositiveRate, max_shards: shards = 5, records = [] } = from;
  const format = { kind: "go-bloomfilter", capacity, falsePositiveRate } as const;
  return [{ format, shards: records, chain: { format, shards } }];
}

function readGuava({ base64 = "", capacity, false_positive_rate: falsePositiveRate, inserted }: Case): Read[] {
  const read = { format: "guava", shards: [base64] } as const;
  // A chain of ours seals what is full.
  return [inserted > capacity ? read : { ...read, chain: { format: "guava", capacity, falsePositiveRate } }];
}

function readBitsAndBlooms({ base64 = "", json = "" }: Case): Read[] {
  return [base64, json].map((shard) => ({ format: "bits-and-blooms", shards: [shard] }));
}

function readRedis({ scandump = [] }: Case): Read[] {
  return [{ format: "redisbloom", shards: [scandump.map(([, chunk]) => chunk)] }];
}

/**
 * The program that wrote redisbloom.json skipped the tab with which some ids begin, and read the end of the line as
 * their last byte.
 */
function asTheDumpsHaveIt(id: string): string {
  return id.startsWith("\t") ? `${id.slice(1)}\n` : id;
}

function parse(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));
}
