/**
 * Mistakes in an app's code that stop nothing and would go unnoticed: each is reported as `misuse`, with words that say
 * what to change. Builds for production neither report them nor have the words.
 */
import { describe, newMessages, readGiven, SeenGuardError, type ErrorListener } from "../errors.js";
import { attempt } from "../platform/host.js";
import { copyList, type CollectedIds } from "./ids.js";
import { isObject } from "./options.js";

/** The guard was closed, and the app has kept it. */
export const CLOSED = __DEV__ ? "the guard is used after its `close`, so everything passes: open another one" : "";
/** An item's element that is never in view. */
export const CONTENTS = __DEV__
  ? "observe cannot see an element with `display: contents`, which has no box: put the id on one in it that has"
  : "";
/** A root that an app has replaced, or an observer that it has not stopped. */
export const GONE = __DEV__
  ? "an element that observe was given has left the document: observe the one in its place, and stop the old"
  : "";
/** The elements of a list lack the attribute, or another root has the list. */
export function noItem(attribute: string): string {
  return __DEV__
    ? `observe has seen no element with \`${attribute}\` for 5 s: set it on each item's element, to the item's id`
    : "";
}

/** The `nodeType` of elements. */
const ELEMENT = 1;
/** A shorter list without any id may be intended. */
const MANY = 5;
/** The most keys of an object that a message lists. */
const NAMED_KEYS = 10;

/** Passes errors on, with each message of misuse once: an app repeats a mistake with every render. */
export function misuseOnce(listener: ErrorListener): ErrorListener {
  const isNew = newMessages();
  return (error) => {
    if (error.code !== "misuse" || (__DEV__ && isNew(error))) listener(error);
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
  const looked = typeof idOf === "function" ? "the function `id` returned none" : "looked for a property `id`";
  return misuse(
    `none of the items of a list has a usable id, so nothing in it is stopped: ${looked}; ` +
      `the first item ${describeValue(copyList(items as unknown[])[0])}; an id is a string, a bigint or a safe integer`,
  );
}

/** The number of items of a list, 0 if it is unknown without reading it; undefined: not a list. */
function lengthOf(items: object): number | undefined {
  if (!Array.isArray(items) && Symbol.iterator in items) return copyList(items as unknown as unknown[]).length;
  const { length } = items as { length?: unknown };
  return typeof length === "number" ? length : undefined;
}

/** An object that `record` or `unsee` was given, and that names no item. */
export function misuseOfRecorded(value: unknown): SeenGuardError {
  const given = __DEV__ ? describeValue(value) : "";
  return misuse(
    __DEV__ ? `record and unsee take ids, or objects with a usable \`id\`; what they were given ${given}` : "",
  );
}

/** The page has several copies of the package that cannot share what they know. */
export function misuseOfCopies(versions: readonly string[]): SeenGuardError {
  const all = versions.join(" and ");
  return misuse(
    __DEV__ ? `the page has seenguard ${all}, which know of each other's items late: have all import one version` : "",
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
  const isRoot = ({ nodeType, host }: Partial<ShadowRoot>) =>
    nodeType === ELEMENT || nodeType === 9 || (nodeType === 11 && host !== undefined);
  return misuseOfNode(root, isRoot, "observe takes an element, a document or a shadow root");
}

/** The misuse in the arguments of `observeItem`; `ids`: the usable ones of `id`. */
export function misuseOfItem(element: unknown, id: unknown, ids: readonly unknown[]): SeenGuardError | undefined {
  if (ids.length > 0)
    return misuseOfNode(element, ({ nodeType }) => nodeType === ELEMENT, "observeItem takes an element");
  const given = __DEV__ ? describeValue(id) : "";
  const wanted = "the id of an item, a string, a bigint or a safe integer";
  return misuse(__DEV__ ? `observeItem takes ${wanted}; this one ${given}, so nothing is observed` : "");
}

/** Decides by `nodeType`: an element of another document, such as a frame's, is not an instance of this one's classes. */
function misuseOfNode(
  node: unknown,
  isWanted: (node: Partial<ShadowRoot>) => boolean,
  wanted: string,
): SeenGuardError | undefined {
  const isRight = readGiven("bad-option", "what is to be observed", () => isWanted(node ?? {}));
  if (isRight || typeof document === "undefined") return undefined;
  const given = __DEV__ ? describeValue(node) : "";
  return misuse(__DEV__ ? `${wanted} that is there already; what it was given ${given}` : "");
}

let isToldOfServer = false;

/** Misuse: `open` without any storage. Once in a process: a server may open a guard for each request. */
export function misuseOfServer(): SeenGuardError | undefined {
  if (isToldOfServer) return undefined;
  isToldOfServer = true;
  return misuse(
    __DEV__
      ? "there is neither a document nor IndexedDB here, so the guard remembers nothing and every item passes: " +
          "where a server renders, open it in the browser alone; on a device without these, pass `storage`"
      : "",
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
