/** The options of `SeenGuard` and its methods: their types, and checks of options that depend on each other. */
import { CLOCK, MAX_MS, type ClockOption } from "../platform/host.js";
import { ENGINE, type EngineOptions } from "../engine/load.js";
import type { CheckedReportOptions } from "../delivery/request.js";
import { refuse } from "../errors.js";
import {
  aFunction,
  aSignal,
  anything,
  checkOptions,
  isFunction,
  isObject,
  isText,
  REQUIRED,
  upTo,
  type Rules,
} from "../input/options.js";
import type { GuardOptions } from "../types/seenguard.js";

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

export const clearRules = {
  namespace: ['a text, one for each signed-in user and feed, such as "home:" + userId', isText, REQUIRED],
  storage: [
    `"${STORAGES.join('", "')}" or an object with the methods ${METHODS.join(", ")}`,
    (value) =>
      STORAGES.includes(value as string) || (isObject(value) && METHODS.every((name) => isFunction(value[name]))),
  ],
} satisfies Rules;

const guardRules = {
  ...clearRules,
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
  fallback: ['a function such as () => import("seenguard/engine-js")', isFunction],
  onError: aFunction,
  onLag: aFunction,
} satisfies Rules;

export const feedRules = { key: ["a text, one for each visible list", isText] } satisfies Rules;

export const recordRules = {
  local: ["true or false", (value) => typeof value === "boolean", false],
} satisfies Rules;

export const observeRules = {
  ...recordRules,
  id: anything,
  attribute: ["an attribute's name", (value) => isText(value) && !/[\s"'<>/=]/.test(value), "data-seen-id"],
  threshold: upTo(1, true, 0.5),
  dwellMs: upTo(MAX_MS, true, 1000),
  idsOf: aFunction,
  onImpression: aFunction,
} satisfies Rules;

export const fetchRules = {
  match: [
    "a path such as /api/feed, a URL, a RegExp, or a function of the request",
    (value) =>
      (isText(value) && value.startsWith("/")) || value instanceof URL || value instanceof RegExp || isFunction(value),
    REQUIRED,
  ],
  fetch: aFunction,
} satisfies Rules;

const CREDENTIALS = ["omit", "same-origin", "include"];

const reportRules = {
  signal: aSignal,
  url: ["the address that takes impressions", isText],
  headers: [
    "an object of texts, or a function that returns one",
    (value) => isFunction(value) || (isObject(value) && Object.values(value).every((text) => typeof text === "string")),
  ],
  send: aFunction,
  fetch: aFunction,
  credentials: [`"${CREDENTIALS.join('", "')}"`, (value) => CREDENTIALS.includes(value as string), "same-origin"],
  intervalMs: upTo(MAX_MS, false, 5000),
} satisfies Rules;

export const deliverRules = { timeoutMs: upTo(MAX_MS, true, 5000) } satisfies Rules;

export const signOutRules = { ...deliverRules, storage: clearRules.storage } satisfies Rules;

/** Checks the options of `open`. `more`: the entry's additional options. */
export function checkGuardOptions(options: unknown, more: Rules): OpenOptions {
  const checked = checkOptions("SeenGuard.open", options, { ...guardRules, ...more });
  const { [CLOCK]: clock, [ENGINE]: engine } = options as ClockOption & EngineOptions;
  return { ...checked, [CLOCK]: clock, [ENGINE]: engine } as object as OpenOptions;
}

/** Checks the options of `report`. */
export function checkReportOptions(options: unknown): CheckedReportOptions {
  const checked = checkOptions("report", options, reportRules) as object as CheckedReportOptions;
  const { url, send } = checked;
  return url === undefined && !send ? refuse("report takes a url or send") : checked;
}
