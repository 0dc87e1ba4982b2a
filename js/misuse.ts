/**
 * Mistakes in an app's code that stop nothing and would go unnoticed: each is reported as `misuse`, with words that say
 * what to change.
 */
import { SeenGuardError } from "./errors.js";
import { isObject } from "./options.js";

/** A shorter list without any id may be what the app has. */
const MANY = 5;
/** Most keys of an object that are named. */
const NAMED_KEYS = 10;

/** What is wrong with a list of which no item has a usable id, if it is long enough to tell. */
export function misuseOfList(list: readonly unknown[], idOf: unknown): SeenGuardError | undefined {
  if (list.length < MANY) return undefined;
  const looked = typeof idOf === "function" ? "the function `id` returned none" : "looked for a property `id`";
  return misuse(
    `none of the items of a list has a usable id, so nothing in it is stopped: ${looked}; ` +
      `the first item ${describeValue(list[0])}; an id is a string, a bigint or a safe integer`,
  );
}

/** What is wrong with a page of `fill`, if it has no items. */
export function misuseOfPage(page: object): SeenGuardError | undefined {
  const { items, json } = page as { items?: unknown; json?: unknown };
  if (typeof items === "object" && items !== null) return undefined;
  if (typeof json === "function") return misuse("a page of `fill` is a Response: return what its json() resolves to");
  return misuse(`a page of \`fill\` must be an object with the array \`items\`; this one ${describeValue(page)}`);
}

/** What is wrong with what `observe` or `track` were given, if that is no element. */
export function misuseOfElement(method: string, element: unknown): SeenGuardError | undefined {
  // An element of another document, such as a frame's, is none of this document's class Element.
  if (typeof document === "undefined" || (element as Partial<Node> | null | undefined)?.nodeType === 1)
    return undefined;
  return misuse(`${method} takes an element that is there already; what it was given ${describeValue(element)}`);
}

function misuse(message: string): SeenGuardError {
  return new SeenGuardError("misuse", message);
}

function describeValue(value: unknown): string {
  try {
    if (!isObject(value)) return `is ${Array.isArray(value) ? "an array" : value === null ? "null" : typeof value}`;
    const keys = Object.keys(value).slice(0, NAMED_KEYS);
    return keys.length > 0 ? `has the keys ${keys.join(", ")}` : "has no keys";
  } catch {
    return "cannot be read";
  }
}
