/**
 * Checks the app's options: only wrong options throw. In a page's script the build for production checks few of them,
 * and ignores the others that are wrong.
 */
import { readGiven, refuse } from "../errors.js";
import { attempt } from "../platform/host.js";

/** A requirement in words, its check, and the default; without a default the option may be absent. */
export type Rule = readonly [requirement: string, isValid: (value: unknown) => boolean, fallback?: unknown];
export type Rules = Readonly<Record<string, Rule>>;

/** The default of a required option: a value that no rule accepts. */
export const REQUIRED = "";
export const anything: Rule = ["", () => true];
export const aFunction: Rule = ["a function", isFunction];
export const aSignal: Rule = [
  __DEV__ ? "an AbortSignal or null" : "",
  (value) => value === null || isSignal(value as AbortSignal),
];

export function positive(fallback: unknown): Rule {
  return ["a number over 0", (value) => Number.isFinite(value) && (value as number) > 0, fallback];
}

/** A rate, such as a false positive rate. */
export function rate(fallback: unknown): Rule {
  return [
    "a number between 0 and 1, neither included",
    (value) => typeof value === "number" && value > 0 && value < 1,
    fallback,
  ];
}

/** A number over 0 (or from 0 on) up to `max`. */
export function upTo(max: number, isZeroValid: boolean, fallback: unknown): Rule {
  return [
    __DEV__ ? `a number ${isZeroValid ? "from" : "over"} 0 up to ${max}` : "",
    (value) => typeof value === "number" && (isZeroValid ? value >= 0 : value > 0) && value <= max,
    fallback,
  ];
}

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number, fallback: unknown): Rule {
  return [
    `a whole number from ${min} to ${max}`,
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    fallback,
  ];
}

/** Shards hold times in 32 bits. A later one is most likely milliseconds. */
const MAX_SECONDS = 2 ** 32 - 1;

/** Whether a value is a time in Unix seconds. */
export function isSeconds(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= MAX_SECONDS;
}

export function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

/** Whether a signal accepts listeners: a proxy of one may not. */
function isSignal(signal: AbortSignal): boolean {
  const listen = () => {
    signal.addEventListener("abort", listen);
    signal.removeEventListener("abort", listen);
    return typeof signal.aborted;
  };
  return attempt(listen) === "boolean";
}

/** Whether a value is a string that is not empty. */
export function isNonEmptyString(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own property; what the page adds to `Object.prototype` is ignored. */
export function ownValue(values: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.prototype.hasOwnProperty.call(values, name) ? values[name] : undefined;
}

/**
 * Returns the values for which there are rules, with defaults for absent or `undefined` ones. Calls `fail` for the first
 * one that breaks its rule.
 */
export function checkEach(
  values: Readonly<Record<string, unknown>>,
  rules: Rules,
  fail: (message: string) => never = refuse,
): Record<string, unknown> {
  // The result inherits nothing either.
  const checked = Object.create(null) as Record<string, unknown>;
  for (const [name, [requirement, isValid, fallback]] of Object.entries(rules)) {
    const given = ownValue(values, name);
    const value = given === undefined ? fallback : given;
    if (value === undefined) continue;
    if (!isValid(value)) fail(`${name} must be ${requirement}`);
    checked[name] = value;
  }
  return checked;
}

/** Like `checkEach`, but ignores values that break their rules. A required one may be absent in the result. */
function validValues(values: unknown, rules: Rules): Record<string, unknown> {
  const valid = Object.create(null) as Record<string, unknown>;
  for (const [name, [, isValid, fallback]] of Object.entries(rules)) {
    const given = attempt(() => ownValue(values as Record<string, unknown>, name));
    const value = given !== undefined && attempt(() => isValid(given)) ? given : fallback;
    if (value !== undefined && value !== REQUIRED) valid[name] = value;
  }
  return valid;
}

/** Checks values in a page's script; the build for production ignores wrong ones. */
export function checkValues(values: Readonly<Record<string, unknown>>, rules: Rules): Record<string, unknown> {
  return __DEV__ ? checkEach(values, rules) : validValues(values, rules);
}

/** Checks options in a page's script, like `checkAllOptions`; the build for production ignores wrong ones. */
export function checkOptions(what: string, options: unknown, rules: Rules): Record<string, unknown> {
  return __DEV__ ? checkAllOptions(what, options, rules) : validValues(options, rules);
}

/** Checks an object of options, and refuses names without a rule. Returns the options with the defaults. */
export function checkAllOptions(what: string, options: unknown, rules: Rules): Record<string, unknown> {
  return readGiven("bad-option", `the options of ${what}`, () => {
    if (!isObject(options)) return refuse(`${what} takes an object of options`);
    const names = Object.keys(rules);
    for (const name of Object.keys(options)) {
      if (!names.includes(name)) refuse(`${what} has no option "${name}"; it has ${names.join(", ")}`);
    }
    return checkEach(options, rules);
  });
}
