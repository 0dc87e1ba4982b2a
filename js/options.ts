/** Checks what comes from the app's code: wrong options are the one thing that throws. */
import { refuse } from "./errors.js";
import type { WasmSource } from "./engine.js";
import type { ObserverSettings } from "./observer.js";
import type { GuardOptions, ObserveOptions, ReportOptions } from "./seenguard.js";
import type { StorageOption } from "./storage/store.js";

const MAX_WINDOW_DAYS = 36_500;
/** The longest time that timers take. */
const MAX_MS = 2 ** 31 - 1;

/** Options of `open`, checked and filled in. */
export interface OpenOptions extends GuardOptions {
  readonly windowDays: number;
  readonly wasm?: WasmSource;
}

/** What something must be: in words, and as a check. */
export type Rule = readonly [wanted: string, isRight: (value: unknown) => boolean];
export type Rules = Readonly<Record<string, Rule>>;

const anything: Rule = ["", () => true];
export const aFunction: Rule = ["a function", (value) => typeof value === "function"];

/** A number that is over 0, or 0 where that is right, too. */
function upTo(most: number, unit = "", isZeroRight = true): Rule {
  return [
    `a number${unit} ${isZeroRight ? "from" : "over"} 0 up to ${most}`,
    (value) => typeof value === "number" && (isZeroRight ? value >= 0 : value > 0) && value <= most,
  ];
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const clearRules = {
  namespace: ['a text that is not empty: one for each signed-in user and feed, such as "home:" + userId', isText],
  storage: [
    '"indexeddb", "local", "none" or an object with the methods get, set, remove and keys',
    (value) =>
      value === "indexeddb" ||
      value === "local" ||
      value === "none" ||
      (isObject(value) && ["get", "set", "remove", "keys"].every((name) => typeof value[name] === "function")),
  ],
} satisfies Rules;

const guardRules = {
  ...clearRules,
  windowDays: upTo(MAX_WINDOW_DAYS, " of days", false),
  onError: aFunction,
  onLag: aFunction,
  wasm: anything,
} satisfies Rules;

const observeRules = {
  attribute: ["an attribute's name", (value) => isText(value) && !/[\s"'<>/=]/.test(value)],
  ratio: upTo(1),
  dwellMs: upTo(MAX_MS, " of milliseconds"),
  onImpression: aFunction,
} satisfies Rules;

const reportRules = {
  url: ["the address that takes impressions", isText],
  headers: [
    "an object of texts",
    (value) => isObject(value) && Object.values(value).every((text) => typeof text === "string"),
  ],
  send: aFunction,
  intervalMs: upTo(MAX_MS, " of milliseconds", false),
} satisfies Rules;

/** Calls `fail` with what is wrong with the first value that is not as its rule wants it. */
export function checkEach(values: object, rules: Rules, fail: (message: string) => never = refuse): void {
  for (const [name, value] of Object.entries(values)) {
    const [wanted, isRight] = rules[name] ?? anything;
    if (!isRight(value)) fail(`${name} must be ${wanted}`);
  }
}

/** Checks options, which may have no names but those of the rules, so that a misspelt one does not pass unnoticed. Returns them with the defaults. */
export function checkOptions(what: string, options: unknown, rules: Rules, defaults: object): Record<string, unknown> {
  if (!isObject(options)) return refuse(`${what} takes an object of options`);
  const names = Object.keys(rules);
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) refuse(`${what} has no option ${JSON.stringify(name)}; it has ${names.join(", ")}`);
  }
  const checked = { ...defaults, ...withoutUndefined(options) };
  checkEach(checked, rules);
  return checked;
}

/** Checks what `clear` takes. */
export function checkPlace(namespace: string, storage: StorageOption | undefined): void {
  checkEach({ namespace, ...withoutUndefined({ storage }) }, clearRules);
}

/** Checks the options of `open`. */
export function checkGuardOptions(options: unknown): OpenOptions {
  const defaults = { namespace: "", windowDays: 30 };
  return checkOptions("SeenGuard.open", options, guardRules, defaults) as object as OpenOptions;
}

/** Checks the options of `observe` and `track`. */
export function checkObserveOptions(options: unknown): ObserverSettings & Pick<ObserveOptions, "onImpression"> {
  const defaults = { attribute: "data-seen-id", ratio: 0.5, dwellMs: 1000 };
  return checkOptions("observe", options, observeRules, defaults) as object as ObserverSettings;
}

/** Checks the options of `report`. */
export function checkReportOptions(options: unknown): ReportOptions {
  return checkOptions("report", options, reportRules, { url: "" }) as object as ReportOptions;
}

/** An option that is given as `undefined` is one that is not given. */
export function withoutUndefined(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
