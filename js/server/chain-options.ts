/** Checks the options of `ShardChain`. */
import { refuse } from "./errors.js";
import { checkFormat, type FormatArguments } from "./format.js";
import { anything, checkOptions, type Rule, type Rules } from "./options.js";
import type { ShardFormat } from "./types/seenguard.js";

/** For how many items a shard is made, and how often it may be wrong. */
interface Sizes {
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

/** Options of a chain as the module takes them. */
export interface ChainSettings extends Sizes {
  readonly format: FormatArguments;
  /** What a snapshot says of its format: nothing of the native one. */
  readonly shippedFormat: ShardFormat | undefined;
  readonly shards: number;
  readonly seed: bigint;
  readonly ttlSeconds: number;
}

function whole(wanted: string, least: number, most: number, fallback: number): Rule {
  return [
    `a whole number${wanted}`,
    (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    fallback,
  ];
}

const rules = {
  capacity: whole(", 1 or more", 1, 2 ** 32 - 1, 1000),
  shards: whole(" from 1 to 64", 1, 64, 5),
  falsePositiveRate: [
    "a number between 0 and 1, neither included",
    (value) => typeof value === "number" && value > 0 && value < 1,
    0.001,
  ],
  seed: [
    "a bigint from 0n to 2n ** 64n - 1n",
    (value) => typeof value === "bigint" && value >= 0n && value < 1n << 64n,
    0n,
  ],
  ttlSeconds: whole(" of seconds, 0 or more", 0, 2 ** 32 - 1, 0),
  format: anything,
  wasm: anything,
} satisfies Rules;

/** Checks the options of a chain. What depends on their combination is the module's to refuse. */
export function checkChainOptions(options: unknown): ChainSettings {
  const given = checkOptions("ShardChain", options, rules) as object as ChainSettings & { format: unknown };
  const format = withSizes(given.format, given);
  const checkedFormat = checkFormat(format, refuse);
  const shippedFormat = checkedFormat[0] === 0 ? undefined : (format as ShardFormat);
  const sizes = sizesOf(format, options as Record<string, unknown>);
  return { ...given, ...sizes, format: checkedFormat, shippedFormat };
}

/** A go-bloomfilter format needs k, or the sizes that k follows from: where it tells neither, they are the chain's. */
function withSizes(format: unknown, { capacity, falsePositiveRate }: Sizes): unknown {
  if (typeof format !== "object" || format === null || (format as { hashes?: unknown }).hashes !== undefined)
    return format;
  return { capacity, falsePositiveRate, ...withoutUndefined({ ...format }) };
}

/** What a go-bloomfilter format says of its filters' sizes need not be said again, and must not be contradicted. */
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
