/**
 * Mistakes in an app's code that stop nothing and would go unnoticed: each is reported as `misuse`, with a message about
 * the change to make. Builds for production neither report them nor contain the messages: callers check `__DEV__`.
 */
import { describe, newMessages, SeenGuardError, type ErrorListener } from "../errors.js";
import { attempt, isElement, isRoot } from "../platform/host.js";
import { copyList, type CollectedIds } from "./ids.js";
import { isObject } from "./options.js";

/** The app uses a guard that it has closed. */
export const CLOSED = "the guard is used after its `close`, so everything passes: open another one";
/** An item's element that is never in view. */
export const CONTENTS =
  "observe cannot see an element with `display: contents`, which has no box: put the id on a child that has one";
/** The app has replaced a root, or not stopped an observer. */
export const GONE =
  "the root of an `observe` has left the document: observe its replacement, and stop the old observer";
/** The elements of a list have no such attribute, or the list is below another root. */
export function noItem(attribute: string): string {
  return `observe has found no element with \`${attribute}\` for 5 s: set it on each item's element, to the item's id`;
}

/** A shorter list without any id may be intended. */
const MANY = 5;
/** The most keys of an object that a message lists. */
const NAMED_KEYS = 10;

/** Passes errors to `listener`, but each message of misuse once: an app repeats a mistake with every render. */
export function misuseOnce(listener: ErrorListener): ErrorListener {
  const isNew = newMessages();
  return (error) => {
    if (error.code !== "misuse" || isNew(error)) listener(error);
  };
}

/** The misuse in a list argument, or in the function that returns its items' ids. */
export function misuseOfList(items: unknown, idOf: unknown, { thrown }: CollectedIds): SeenGuardError | undefined {
  if (thrown) {
    const why = `the function \`id\` has thrown, and the item passes: ${describe(thrown.cause)}`;
    return new SeenGuardError("misuse", why, thrown.cause);
  }
  // An absent list may be one that is not loaded yet.
  if (items === undefined || items === null) return undefined;
  const length = attempt(() => (typeof items === "object" ? lengthOf(items) : undefined));
  if (length === undefined) return misuse(`a list is an array of items; this one ${describeValue(items)}`);
  if (length < MANY) return undefined;
  const why = typeof idOf === "function" ? "the function `id` returned none" : "looked for a property `id`";
  return misuse(
    `none of the items of a list has a usable id, so nothing in it is stopped: ${why}; ` +
      `the first item ${describeValue(copyList(items as unknown[])[0])}; an id is a string, a bigint or a safe integer`,
  );
}

/** The number of items of a list, 0 if it is unknown without reading it; undefined: not a list. */
function lengthOf(items: object): number | undefined {
  if (!Array.isArray(items) && Symbol.iterator in items) return copyList(items as unknown as unknown[]).length;
  const { length } = items as { length?: unknown };
  return typeof length === "number" ? length : undefined;
}

/** An object without a usable id as an argument of `record` or `unsee`. */
export function misuseOfRecorded(value: unknown): SeenGuardError {
  return misuse(`record and unsee take ids, or objects with a usable \`id\`; this one ${describeValue(value)}`);
}

/** The page has copies of the package in several versions, which cannot share a registry. */
export function misuseOfCopies(versions: readonly string[]): SeenGuardError {
  const all = versions.join(" and ");
  return misuse(
    `the page has seenguard ${all}, which do not share the state of a guard: import one version everywhere`,
  );
}

/** The misuse in a page of `fill` without items. */
export function misuseOfPage(page: unknown): SeenGuardError | undefined {
  const { items } = page as { items?: unknown };
  if (Array.isArray(items) || Array.isArray(page)) return undefined;
  return __DEV__ ? describePage(page) : misuse("a page of `fill` has no array `items`");
}

function describePage(page: unknown): SeenGuardError {
  const { json } = page as { json?: unknown };
  if (typeof json === "function") return misuse("a page of `fill` is a Response: return what its json() resolves to");
  return misuse(
    `a page of \`fill\` is an array, or an object with the array \`items\`; this one ${describeValue(page)}`,
  );
}

/** The misuse in the root of `observe`. */
export function misuseOfRoot(root: unknown): SeenGuardError | undefined {
  return isRoot(root) ? undefined : misuseOfNode(root, "observe takes an element, a document or a shadow root");
}

/** The misuse in the arguments of `observeItem`; `ids`: the usable ones of `id`. */
export function misuseOfItem(element: unknown, id: unknown, ids: readonly unknown[]): SeenGuardError | undefined {
  if (ids.length > 0) return isElement(element) ? undefined : misuseOfNode(element, "observeItem takes an element");
  const wanted = "the id of an item, a string, a bigint or a safe integer";
  return misuse(`observeItem takes ${wanted}; this one ${describeValue(id)}, so nothing is observed`);
}

/** Server rendering has no nodes. */
function misuseOfNode(node: unknown, wanted: string): SeenGuardError | undefined {
  if (typeof document === "undefined") return undefined;
  return misuse(`${wanted} that exists already; this one ${describeValue(node)}`);
}

let isServerReported = false;

/** Misuse: `open` without any storage. Once in a process: a server may open a guard for each request. */
export function misuseOfServer(): SeenGuardError | undefined {
  if (isServerReported) return undefined;
  isServerReported = true;
  return misuse(
    "there is neither a document nor IndexedDB here, so the guard remembers nothing and every item passes: " +
      "where a server renders, open it in the browser alone; on a device without these, pass `storage`",
  );
}

export function misuse(message: string): SeenGuardError {
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
