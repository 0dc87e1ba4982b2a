/** Checks requests for a page, of `pageOf` and of stores. */
import { readGiven, refuse } from "../errors.js";
import { aFunction, anything, checkAllOptions, REQUIRED, wholeNumber, type Rules } from "../input/options.js";
import type { IdOf } from "../types/server.js";
import { requestedHeld, requestedPending, requestedString } from "./call-options.js";

/** A checked request for a page. */
export interface CheckedPage<T> {
  readonly size: number;
  readonly repeats: "drop" | "last";
  readonly now?: number;
  readonly cursor: string | undefined;
  readonly held: string | undefined;
  readonly pending: string | undefined;
  readonly id: IdOf<T> | undefined;
}

/** The longest cursor: that with the marks of 500 ids. */
const MAX_CURSOR_LENGTH = 2_100;

export const pageRules = {
  size: wholeNumber(1, 10_000, REQUIRED),
  cursor: anything,
  held: anything,
  pending: anything,
  repeats: ['"drop" or "last"', (value) => value === "drop" || value === "last", "drop"],
  id: aFunction,
} satisfies Rules;

/** Checks the list of candidates and the options, which may come from a request unchecked. */
export function checkPage<T>(
  method: string,
  ranked: unknown,
  options: unknown,
  rules: Rules = pageRules,
): CheckedPage<T> {
  readGiven("bad-option", `the list of ${method}`, () => {
    if (!Array.isArray(ranked)) refuse(`${method} takes a list of candidates: is it awaited?`);
  });
  const { cursor, held, pending, ...checked } = checkAllOptions(method, options, rules) as Partial<CheckedPage<T>>;
  return {
    ...(checked as Pick<CheckedPage<T>, "size" | "repeats" | "id" | "now">),
    cursor: requestedString(cursor, MAX_CURSOR_LENGTH),
    held: requestedHeld(held),
    pending: requestedPending(pending),
  };
}
