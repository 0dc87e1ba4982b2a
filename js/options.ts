/** Checks what comes from the app's code: wrong options are the one thing that throws. */
import { refuse } from "./errors.js";
import type { WasmSource } from "./engine/engine.js";
import type { ObserverSettings } from "./observer/observer.js";
import type { GuardOptions, ObserveOptions, ReportOptions } from "./types/seenguard.js";
import type { StorageOption } from "./storage/store.js";

const MAX_WINDOW_DAYS = 36_500;
/** The longest time that timers take. */
const MAX_MS = 2 ** 31 - 1;

/** Options of `open`, checked and filled in. */
export interface OpenOptions extends GuardOptions {
  readonly windowDays: number;
  readonly wasm?: WasmSource;
}

/** Options of `report`, checked and filled in. */
export interface CheckedReportOptions extends ReportOptions {
  readonly intervalMs: number;
}

/** What something must be: in words, as a check, and what it is if nobody says; without that it may be left out. */
export type Rule = readonly [wanted: string, isRight: (value: unknown) => boolean, fallback?: unknown];
export type Rules = Readonly<Record<string, Rule>>;

/** What must be given: this is not right anywhere. */
export const REQUIRED = "";
export const anything: Rule = ["", () => true];
const aFunction: Rule = ["a function", isFunction];

/** A number that is over 0, or 0 where that is right, too. */
export function upTo(most: number, unit: string, isZeroRight: boolean, fallback: unknown): Rule {
  return [
    `a number${unit} ${isZeroRight ? "from" : "over"} 0 up to ${most}`,
    (value) => typeof value === "number" && (isZeroRight ? value >= 0 : value > 0) && value <= most,
    fallback,
  ];
}

export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const PLACES = ["indexeddb", "local", "none"];
/** Those of a storage of the app's own. */
const METHODS = ["get", "set", "remove", "keys"];

const clearRules = {
  namespace: ['a text, one for each signed-in user and feed, such as "home:" + userId', isText, REQUIRED],
  storage: [
    `"${PLACES.join('", "')}" or an object with the methods ${METHODS.join(", ")}`,
    (value) =>
      PLACES.includes(value as string) || (isObject(value) && METHODS.every((name) => isFunction(value[name]))),
  ],
} satisfies Rules;

const guardRules = {
  ...clearRules,
  windowDays: upTo(MAX_WINDOW_DAYS, " of days", false, 30),
  onError: aFunction,
  onLag: aFunction,
  wasm: anything,
} satisfies Rules;

const observeRules = {
  attribute: ["an attribute's name", (value) => isText(value) && !/[\s"'<>/=]/.test(value), "data-seen-id"],
  ratio: upTo(1, "", true, 0.5),
  dwellMs: upTo(MAX_MS, " of milliseconds", true, 1000),
  onImpression: aFunction,
} satisfies Rules;

const reportRules = {
  url: ["the address that takes impressions", isText, REQUIRED],
  headers: [
    "an object of texts",
    (value) => isObject(value) && Object.values(value).every((text) => typeof text === "string"),
  ],
  send: aFunction,
  intervalMs: upTo(MAX_MS, " of milliseconds", false, 5000),
} satisfies Rules;

/**
 * The values that there are rules for, with the defaults of those that are absent or `undefined`. Calls `fail` with what is wrong with the first
 * one that is not as its rule wants it.
 */
export function checkEach(
  values: Readonly<Record<string, unknown>>,
  rules: Rules,
  fail: (message: string) => never = refuse,
): Record<string, unknown> {
  const checked: Record<string, unknown> = {};
  for (const [name, [wanted, isRight, fallback]] of Object.entries(rules)) {
    const { [name]: value = fallback } = values;
    if (value === undefined) continue;
    if (!isRight(value)) fail(`${name} must be ${wanted}`);
    checked[name] = value;
  }
  return checked;
}

/** Checks options, which may have no names but those of the rules, so that a misspelt one does not pass unnoticed. Returns them with the defaults. */
export function checkOptions(what: string, options: unknown, rules: Rules): Record<string, unknown> {
  if (!isObject(options)) return refuse(`${what} takes an object of options`);
  const names = Object.keys(rules);
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) refuse(`${what} has no option "${name}"; it has ${names.join(", ")}`);
  }
  return checkEach(options, rules);
}

/** Checks what `clear` takes. */
export function checkPlace(namespace: string, storage: StorageOption | undefined): void {
  checkEach({ namespace, storage }, clearRules);
}

/** Checks the options of `open`. */
export function checkGuardOptions(options: unknown): OpenOptions {
  return checkOptions("SeenGuard.open", options, guardRules) as object as OpenOptions;
}

/** Checks the options of `observe` and `track`. */
export function checkObserveOptions(options: unknown): ObserverSettings & Pick<ObserveOptions, "onImpression"> {
  return checkOptions("observe", options, observeRules) as object as ObserverSettings;
}

/** Checks the options of `report`. */
export function checkReportOptions(options: unknown): CheckedReportOptions {
  return checkOptions("report", options, reportRules) as object as CheckedReportOptions;
}
