/** Checks the options of chains. The engine has their defaults, and checks combinations. */
import { readGiven, refuse } from "../errors.js";
import { checkFormat, type FormatArguments } from "../input/format.js";
import { anything, checkEach, checkAllOptions, isObject, rate, wholeNumber, type Rules } from "../input/options.js";
import { call, type ServerEngine } from "./engine.js";

/** The given options in the engine's form. */
export interface GivenOptions {
  readonly format: FormatArguments;
  readonly capacity?: number;
  readonly shards?: number;
  readonly falsePositiveRate?: number;
  readonly seed?: number | bigint;
  readonly ttlSeconds?: number;
}

type Sizes = Omit<GivenOptions, "format">;

const GO = "go-bloomfilter";
const MAX_U32 = 2 ** 32 - 1;
/** A go-bloomfilter format whose k follows from the chain's sizes. */
const GO_WITH_CHAINS_SIZES: FormatArguments = [6, 0, 0];

export const chainRules = {
  capacity: wholeNumber(1, MAX_U32, undefined),
  shards: wholeNumber(1, 64, undefined),
  falsePositiveRate: rate(undefined),
  seed: ["a whole number from 0 to 2 ** 53 - 1, or a bigint from 0n to 2n ** 64n - 1n", isSeed],
  ttlSeconds: wholeNumber(0, MAX_U32, undefined),
  format: anything,
} satisfies Rules;

function isSeed(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0;
  return typeof value === "bigint" && value >= 0n && value < 1n << 64n;
}

export function checkChainOptions(options: unknown): GivenOptions {
  return withFormat(checkAllOptions("ShardChain", options, chainRules));
}

/** Checks the format. The engine refuses wrong combinations. */
export function withFormat(checked: Record<string, unknown>): GivenOptions {
  return readGiven("bad-option", "a chain's options", () => {
    const { format: named, ...given } = checked as Sizes & { format?: unknown };
    // Copied, so that each property is read once.
    const format = isObject(named) ? { ...named } : named;
    if (!isObject(format) || format.kind !== GO) return { ...given, format: checkFormat(format, refuse) };
    const sizes = sizesOf(format, given);
    return {
      ...given,
      ...sizes,
      format: format.hashes === undefined ? GO_WITH_CHAINS_SIZES : checkFormat(format, refuse),
    };
  });
}

/** The sizes in a go-bloomfilter format. Refuses options that contradict them. */
function sizesOf(format: Record<string, unknown>, given: Sizes): Sizes {
  const { capacity, falsePositiveRate } = chainRules;
  const sizes = checkEach(format, { capacity, falsePositiveRate }) as Sizes;
  for (const [name, size] of Object.entries(sizes)) {
    const other = given[name as keyof Sizes];
    if (other !== undefined && other !== size) refuse(`${name} must be the same as in the format, or be left out`);
  }
  return sizes;
}

/** Calls `run` with the options as an object of the engine, which adds the defaults. */
export function withOptions<T>(
  engine: ServerEngine,
  { format, capacity, shards, falsePositiveRate, seed, ttlSeconds }: GivenOptions,
  areStores: boolean,
  run: (options: InstanceType<ServerEngine["classes"]["GivenOptions"]>) => T,
): T {
  const options = call(engine, () => {
    const sizes = [capacity, shards, falsePositiveRate] as const;
    return new engine.classes.GivenOptions(areStores, ...format, ...sizes, seed?.toString(), ttlSeconds);
  });
  try {
    return run(options);
  } finally {
    engine.call(() => options.free());
  }
}
