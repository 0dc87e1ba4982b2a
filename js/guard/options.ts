/**
 * The options of `SeenGuard` and its methods: their types, and checks of options that depend on each other. Builds for
 * production check only `namespace`, `windowDays` and `remember`, and contain only their messages.
 */
import { CLOCK, MAX_MS, type ClockOption } from "../platform/host.js";
import { ENGINE, type EngineOptions } from "../engine/load.js";
import type { CheckedReportOptions } from "../delivery/request.js";
import { readGiven, refuse } from "../errors.js";
import {
  aFunction,
  aSignal,
  checkEach,
  checkOptions,
  isFunction,
  isObject,
  isNonEmptyString,
  REQUIRED,
  upTo,
  type Rules,
} from "../input/options.js";
import { DEFAULTS, type DwellSettings } from "../observer/dwell.js";
import type { ObserverSettings } from "../observer/observer.js";
import type { GuardOptions, ObserveItemOptions, ObserveOptions } from "../types/seenguard.js";

/** Options of `open`, checked, with defaults. */
export interface OpenOptions extends GuardOptions, EngineOptions, ClockOption {
  readonly windowDays: number;
  readonly remember: number;
}

const MAX_WINDOW_DAYS = 36_500;
const MAX_REMEMBER = 50_000;

const STORAGES = ["indexeddb", "none"];
/** The methods of a custom storage. */
const METHODS = ["get", "set", "remove", "keys"];

const nameRules = {
  namespace: ['a string, one for each signed-in user and feed, such as "home:" + userId', isNonEmptyString, REQUIRED],
} satisfies Rules;

const storageRules = {
  storage: [
    __DEV__ ? `"${STORAGES.join('", "')}" or an object with the methods ${METHODS.join(", ")}` : "",
    // Production accepts any object, whose calls then fail: data for a custom store must not be stored elsewhere.
    (value) =>
      STORAGES.includes(value as string) ||
      (isObject(value) && (!__DEV__ || METHODS.every((name) => isFunction(value[name])))),
  ],
} satisfies Rules;

/** The rules that every build checks. */
const engineRules = {
  ...nameRules,
  windowDays: [
    `over 0 and at most ${MAX_WINDOW_DAYS}`,
    (value) => typeof value === "number" && value > 0 && value <= MAX_WINDOW_DAYS,
    30,
  ],
  remember: [
    `1 to ${MAX_REMEMBER}`,
    (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_REMEMBER,
    10_000,
  ],
} satisfies Rules;

const guardRules = {
  ...engineRules,
  ...storageRules,
  fallback: [__DEV__ ? 'a function such as () => import("seenguard/engine-js")' : "", isFunction],
  onError: aFunction,
  onLag: aFunction,
} satisfies Rules;

export const feedRules = {
  key: [__DEV__ ? "a string, one for each visible list" : "", isNonEmptyString],
} satisfies Rules;

export const recordRules = {
  local: [__DEV__ ? "true or false" : "", (value) => typeof value === "boolean", false],
} satisfies Rules;

export const observeItemRules = {
  ...recordRules,
  threshold: upTo(1, true, DEFAULTS.threshold),
  dwellMs: upTo(MAX_MS, true, DEFAULTS.dwellMs),
  onImpression: aFunction,
  signal: aSignal,
} satisfies Rules;

export const observeRules = {
  ...observeItemRules,
  attribute: [
    __DEV__ ? "an attribute's name" : "",
    (value) => isNonEmptyString(value) && !/[\s"'<>/=]/.test(value),
    "data-seen-id",
  ],
  idsOf: aFunction,
} satisfies Rules;

/** Options of `observe` and `observeItem`, checked, with defaults. */
export type CheckedItemOptions = Omit<ObserveItemOptions, keyof DwellSettings> & DwellSettings;
export type CheckedObserveOptions = Omit<ObserveOptions, keyof ObserverSettings> & ObserverSettings;

export const fetchRules = {
  match: [
    __DEV__ ? "a path such as /api/feed, a URL, a RegExp, or a function of the request" : "",
    (value) =>
      (isNonEmptyString(value) && value.startsWith("/")) ||
      value instanceof URL ||
      value instanceof RegExp ||
      isFunction(value),
    REQUIRED,
  ],
  fetch: aFunction,
} satisfies Rules;

const CREDENTIALS = ["omit", "same-origin", "include"];

const reportRules = {
  signal: aSignal,
  url: [__DEV__ ? "the URL that receives impressions" : "", isNonEmptyString],
  headers: [
    __DEV__ ? "an object of strings, or a function that returns one" : "",
    (value) =>
      isFunction(value) || (isObject(value) && Object.values(value).every((header) => typeof header === "string")),
  ],
  send: aFunction,
  fetch: aFunction,
  credentials: [
    __DEV__ ? `"${CREDENTIALS.join('", "')}"` : "",
    (value) => CREDENTIALS.includes(value as string),
    "same-origin",
  ],
  intervalMs: upTo(MAX_MS, false, 5000),
} satisfies Rules;

export const deliverRules = { timeoutMs: upTo(MAX_MS, true, 5000) } satisfies Rules;

export const signOutRules = { ...deliverRules, ...storageRules } satisfies Rules;

/** Checks the options of `open`. `more`: the entry's additional options. */
export function checkGuardOptions(options: unknown, more: Rules): OpenOptions {
  const what = "SeenGuard.open";
  const checked = checkOptions(what, options, { ...guardRules, ...more });
  const always = checkAlways(what, options, engineRules);
  const { [CLOCK]: clock, [ENGINE]: engine } = options as ClockOption & EngineOptions;
  return { ...checked, ...always, [CLOCK]: clock, [ENGINE]: engine } as object as OpenOptions;
}

/** Checks the arguments of `SeenGuard.clear`. */
export function checkClear(namespace: unknown, storage: unknown): Pick<GuardOptions, "storage"> {
  const given = { namespace, storage };
  checkAlways("SeenGuard.clear", given, nameRules);
  return checkOptions("SeenGuard.clear", given, { ...nameRules, ...storageRules });
}

/** Checks options in every build. */
function checkAlways(what: string, options: unknown, rules: Rules): Record<string, unknown> {
  return readGiven("bad-option", `the options of ${what}`, () => checkEach(options as Record<string, unknown>, rules));
}

/** Checks the options of `report`. Without a `url` or `send` a build for production delivers nothing. */
export function checkReportOptions(options: unknown): CheckedReportOptions {
  const checked = checkOptions("report", options, reportRules) as object as CheckedReportOptions;
  const { url, send } = checked;
  return __DEV__ && url === undefined && !send ? refuse("report takes a url or send") : checked;
}
