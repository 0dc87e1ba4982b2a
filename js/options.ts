/** Checks what comes from the app's code: wrong options are the one thing that throws. */
import { SeenGuardError } from "./errors.js";
import type { WasmSource } from "./engine.js";
import { checkFormat, type FormatArguments } from "./format.js";
import type { ObserverSettings } from "./observer.js";
import type { GuardOptions, ObserveOptions, ReportOptions, SeenStorage, ShardFormat } from "./seenguard.js";
import type { StorageOption } from "./storage/store.js";

const DEFAULT_WINDOW_DAYS = 30;
const MAX_WINDOW_DAYS = 36_500;

/** Options of `open`, checked and filled in. */
export interface OpenOptions extends GuardOptions {
  readonly windowDays: number;
  readonly wasm?: WasmSource;
}

function fail(message: string): never {
  throw new SeenGuardError("bad-option", message);
}

/** Checks that `options` is an object that has no property but those named, so that a misspelt option does not pass unnoticed. */
function checkNames(
  options: unknown,
  what: string,
  names: readonly string[],
): asserts options is Record<string, unknown> {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    fail(`${what} takes an object of options`);
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) fail(`${what} has no option ${JSON.stringify(name)}; it has ${names.join(", ")}`);
  }
}

function checkFunction(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== "function") fail(`${name} must be a function`);
}

function checkNumber(value: unknown, name: string, wanted: string, isRight: (value: number) => boolean): void {
  if (value !== undefined && !(typeof value === "number" && isRight(value))) fail(`${name} must be ${wanted}`);
}

export function checkNamespace(namespace: unknown): asserts namespace is string {
  if (typeof namespace !== "string" || namespace === "") {
    fail('namespace must be a text that is not empty: one for each signed-in user and feed, such as "home:" + userId');
  }
}

export function checkStorage(storage: unknown): asserts storage is StorageOption | undefined {
  if (storage === undefined || storage === "indexeddb" || storage === "local" || storage === "none") return;
  const methods = ["get", "set", "remove", "keys"] as const;
  const isStorage = (value: unknown): value is SeenStorage =>
    typeof value === "object" &&
    value !== null &&
    methods.every((name) => typeof (value as Partial<SeenStorage>)[name] === "function");
  if (!isStorage(storage))
    fail('storage must be "indexeddb", "local", "none" or an object with the methods get, set, remove and keys');
}

/** Checks the options of `open`. */
export function checkGuardOptions(options: unknown): OpenOptions {
  checkNames(options, "SeenGuard.open", ["namespace", "storage", "windowDays", "onError", "onLag", "wasm"]);
  const { namespace, storage, windowDays, onError, onLag } = options;
  checkNamespace(namespace);
  checkStorage(storage);
  checkFunction(onError, "onError");
  checkFunction(onLag, "onLag");
  checkNumber(
    windowDays,
    "windowDays",
    `a number of days over 0, at most ${String(MAX_WINDOW_DAYS)}`,
    (days) => days > 0 && days <= MAX_WINDOW_DAYS,
  );
  return { windowDays: DEFAULT_WINDOW_DAYS, ...withoutUndefined(options) } as OpenOptions;
}

/** Checks the options of `observe` and `track`. */
export function checkObserveOptions(options: unknown): ObserverSettings & Pick<ObserveOptions, "onImpression"> {
  checkNames(options, "observe", ["attribute", "ratio", "dwellMs", "onImpression"]);
  const { attribute, ratio, dwellMs, onImpression } = options;
  if (attribute !== undefined && (typeof attribute !== "string" || !/^[^\s"'<>/=]+$/.test(attribute)))
    fail("attribute must be an attribute's name");
  checkNumber(ratio, "ratio", "a number from 0 to 1", (share) => share >= 0 && share <= 1);
  checkNumber(dwellMs, "dwellMs", "a number of milliseconds, 0 or more", (dwell) => dwell >= 0 && dwell < 2 ** 31);
  checkFunction(onImpression, "onImpression");
  return { attribute: "data-seen-id", ratio: 0.5, dwellMs: 1000, ...withoutUndefined(options) };
}

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
  readonly wasm?: WasmSource;
}

/** Checks the options of a chain. What depends on their combination is the module's to refuse. */
export function checkChainOptions(options: unknown): ChainSettings {
  checkNames(options, "ShardChain", [
    "capacity",
    "shards",
    "falsePositiveRate",
    "seed",
    "ttlSeconds",
    "format",
    "wasm",
  ]);
  const { capacity, shards, falsePositiveRate, seed, ttlSeconds } = options;
  const whole = (most: number, least: number) => (value: number) =>
    Number.isInteger(value) && value >= least && value <= most;
  checkNumber(capacity, "capacity", "a whole number, 1 or more", whole(2 ** 32 - 1, 1));
  checkNumber(shards, "shards", "a whole number from 1 to 64", whole(64, 1));
  checkNumber(
    falsePositiveRate,
    "falsePositiveRate",
    "a number between 0 and 1, neither included",
    (rate) => rate > 0 && rate < 1,
  );
  checkNumber(ttlSeconds, "ttlSeconds", "a whole number of seconds, 0 or more", whole(2 ** 32 - 1, 0));
  if (seed !== undefined && (typeof seed !== "bigint" || seed < 0n || seed >= 1n << 64n))
    fail("seed must be a bigint from 0n to 2n ** 64n - 1n");
  const defaults = { capacity: 1000, shards: 5, falsePositiveRate: 0.001, seed: 0n, ttlSeconds: 0 };
  const given = { ...defaults, ...withoutUndefined(options) };
  const format = withSizes(options.format, given);
  const checkedFormat = checkFormat(format, fail);
  const shippedFormat = checkedFormat[0] === 0 ? undefined : (format as ShardFormat);
  return { ...given, ...sizesOf(format, options), format: checkedFormat, shippedFormat };
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
      fail(`${name} must be what the format says, or be left to it`);
  }
  return sizes;
}

/** Checks the options of `report`. */
export function checkReportOptions(options: unknown): asserts options is ReportOptions {
  checkNames(options, "report", ["url", "headers", "send", "intervalMs"]);
  const { url, headers, send, intervalMs } = options;
  if (typeof url !== "string" || url === "") fail("url must be the address that takes impressions");
  checkFunction(send, "send");
  checkNumber(
    intervalMs,
    "intervalMs",
    "a number of milliseconds over 0",
    (interval) => interval > 0 && interval < 2 ** 31,
  );
  if (headers === undefined) return;
  const isText = (value: unknown) => typeof value === "string";
  if (typeof headers !== "object" || headers === null || !Object.values(headers).every(isText))
    fail("headers must be an object of texts");
}

/** An option that is given as `undefined` is one that is not given. */
function withoutUndefined(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
