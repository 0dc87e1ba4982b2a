/** Checks the options of `ShardChain.create` and `ShardChain.from`. */
import { readGiven, refuse } from "../errors.js";
import { checkFormat, type FormatArguments } from "../format.js";
import { anything, checkOptions, rate, wholeNumber, type Rules } from "../options.js";
import type { ShardFormat } from "../types/server.js";

/** How many items a shard is for, and how often it may be wrong. */
interface Sizes {
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

/** The options as the module takes them. */
export interface ChainSettings extends Sizes {
  readonly format: FormatArguments;
  /** The format that snapshots name: none for the native one. */
  readonly shippedFormat: ShardFormat | undefined;
  readonly shards: number;
  readonly seed: bigint;
  readonly ttlSeconds: number;
}

const MAX_U32 = 2 ** 32 - 1;

const rules = {
  capacity: wholeNumber(1, MAX_U32, 1000),
  shards: wholeNumber(1, 64, 5),
  falsePositiveRate: rate(0.001),
  seed: [
    "a bigint from 0n to 2n ** 64n - 1n",
    (value) => typeof value === "bigint" && value >= 0n && value < 1n << 64n,
    0n,
  ],
  ttlSeconds: wholeNumber(0, MAX_U32, 0),
  format: anything,
} satisfies Rules;

/** Checks the options of a chain. The module refuses combinations that are wrong. */
export function checkChainOptions(options: unknown): ChainSettings {
  const given = checkOptions("ShardChain", options, rules) as object as ChainSettings & { format: unknown };
  return readGiven("bad-option", "a chain's options", () => {
    const format = withSizes(given.format, given);
    const checkedFormat = checkFormat(format, refuse);
    const shippedFormat = checkedFormat[0] === 0 ? undefined : (format as ShardFormat);
    const sizes = sizesOf(format, options as Record<string, unknown>);
    return { ...given, ...sizes, format: checkedFormat, shippedFormat };
  });
}

/** A go-bloomfilter format that names neither k nor the sizes that k follows from has the chain's sizes. */
function withSizes(format: unknown, { capacity, falsePositiveRate }: Sizes): unknown {
  if (typeof format !== "object" || format === null) return format;
  const named: Record<string, unknown> = withoutUndefined({ ...format });
  return named.hashes === undefined ? { capacity, falsePositiveRate, ...named } : named;
}

/** The sizes that a go-bloomfilter format names. Refuses options that contradict them. */
function sizesOf(format: unknown, options: Record<string, unknown>): Record<string, unknown> {
  if (typeof format !== "object" || format === null) return {};
  const { capacity, falsePositiveRate } = format as Record<string, unknown>;
  const sizes = withoutUndefined({ capacity, falsePositiveRate });
  for (const [name, size] of Object.entries(sizes)) {
    if (options[name] !== undefined && options[name] !== size)
      refuse(`${name} must be what the format says, or be left to it`);
  }
  return sizes;
}

function withoutUndefined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
