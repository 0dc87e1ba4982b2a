/** Inspects shards. The result has the shape of `--json`. */
import { SeenGuardError } from "../../errors.ts";
import type { ShardFormat } from "../../types/seenguard.js";
import type { Inspection, Inspector, ShardReport } from "../../server/inspection.ts";
import { badUsage, failureOf, type Failure } from "../command.ts";
import type { Source } from "./input.ts";
import type { Options } from "./options.ts";

/** The most bits of a snapshot that a guard accepts. */
const MAX_BITS = 2 ** 26;

export interface InspectedShard extends Partial<ShardReport> {
  readonly index: number;
  readonly format?: ShardFormat;
  /** Whether it has expired, after which it contains nothing. */
  readonly expired?: boolean;
  readonly error?: Failure;
}

export interface Inspected {
  readonly snapshot?: { readonly version?: number; readonly now?: number };
  readonly bits: number;
  /** Of all readable and unexpired shards together. */
  readonly falsePositiveRate: number;
  readonly shards: readonly InspectedShard[];
  readonly has: readonly { readonly id: string; readonly contained: boolean; readonly shards: readonly number[] }[];
  readonly error?: Failure;
}

interface Read {
  readonly shard: InspectedShard;
  readonly inspection?: Inspection;
}

export function inspectAll(inspect: Inspector, source: Source, { has }: Options): Inspected {
  const now = source.snapshot?.now ?? Math.floor(Date.now() / 1000);
  const read = source.shards.map((text, index) => readShard(inspect, text, source.format, index, now));
  const shards = read.map(({ shard }) => shard);
  const bits = shards.reduce((sum, shard) => sum + (shard.bits ?? 0), 0);
  const passes = shards
    .filter(({ expired }) => expired !== true)
    .reduce((product, { falsePositiveRate = 0 }) => product * (1 - falsePositiveRate), 1);
  return {
    ...(source.snapshot && { snapshot: source.snapshot }),
    bits,
    falsePositiveRate: 1 - passes,
    shards,
    has: has.map((id) => {
      const containing = read.filter(({ inspection }) => inspection?.has(id, now)).map(({ shard }) => shard.index);
      return { id, contained: containing.length > 0, shards: containing };
    }),
    ...(bits > MAX_BITS && {
      error: failureOf(
        new SeenGuardError("bad-snapshot", "too-large: the shards have over 2^26 bits together: no guard accepts them"),
      ),
    }),
  };
}

function readShard(inspect: Inspector, text: string, named: ShardFormat | undefined, index: number, now: number): Read {
  try {
    const { format, inspection } =
      named === undefined ? recognise(inspect, text) : { format: named, inspection: inspect(named, text) };
    const { report } = inspection;
    const expired = report.filters.every(({ expires = 0 }) => expires !== 0 && now >= expires);
    return { shard: { index, format, expired, ...report }, inspection };
  } catch (error) {
    // Wrong arguments are not an error of the shard.
    if (error instanceof SeenGuardError && error.code === "bad-option") throw error;
    return { shard: { index, ...(named && { format: named }), error: failureOf(error) } };
  }
}

/** Reads a shard of unknown format. The error of a damaged one is that of the format that it resembles. */
function recognise(inspect: Inspector, text: string): { format: ShardFormat; inspection: Inspection } {
  if (/^\d+::/.test(text)) {
    throw badUsage("this is a go-bloomfilter record, which does not contain k: add --hashes, or --capacity and --rate");
  }
  const looksLike: ShardFormat | undefined = text.startsWith("{")
    ? "bits-and-blooms"
    : text.includes(",")
      ? "redisbloom"
      : // The magic as base64.
        text.startsWith("U0dTM")
        ? "seenguard"
        : undefined;
  if (looksLike !== undefined) return { format: looksLike, inspection: inspect(looksLike, text) };
  for (const format of ["guava", "bits-and-blooms"] as const) {
    try {
      return { format, inspection: inspect(format, text) };
    } catch {
      // It is of another format: the header states lengths that fit no other one.
    }
  }
  try {
    return { format: "seenguard", inspection: inspect("seenguard", text) };
  } catch (error) {
    const { code, message } = error as SeenGuardError;
    const reason = message.replace(/ \(https:\S+\)$/, "");
    throw new SeenGuardError(
      code,
      `${reason}; nor is it a shard of another format that states its sizes: pass the format of a damaged one with --format`,
    );
  }
}
