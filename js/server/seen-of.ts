/** `seenOf`: reads `Seen-Held` and `Seen-Pending` of a request in any framework's form. */
import { attempt } from "../platform/host.js";
import { isNonEmptyString } from "../input/options.js";

const NAMES = { held: "seen-held", pending: "seen-pending" };

export function seenOf(request: unknown): { held?: string; pending?: string } {
  const entries = sourcesOf(request).flatMap(entriesOf);
  const find = (name: string): string | undefined =>
    entries.find(([key, value]) => key.toLowerCase() === name && isNonEmptyString(value))?.[1] as string | undefined;
  const [held, pending] = [find(NAMES.held), find(NAMES.pending)];
  return { ...(held !== undefined && { held }), ...(pending !== undefined && { pending }) };
}

/** The possible sources of names and values, the headers first. */
function sourcesOf(request: unknown): unknown[] {
  const headers = read(request, "headers") ?? read(read(request, "raw"), "headers");
  const url = read(request, "url");
  const query = isNonEmptyString(url) ? new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]) : undefined;
  // The request may be an object of headers or of parameters itself.
  return [headers, read(request, "query"), query, request];
}

/** The names and values of `Headers`, of parameters or of a plain object. Never throws. */
function entriesOf(source: unknown): [string, unknown][] {
  if (typeof source !== "object" || source === null) return [];
  const isEntry = (entry: unknown): entry is [string, unknown] => Array.isArray(entry) && typeof entry[0] === "string";
  const entries = () => (Symbol.iterator in source ? [...(source as Iterable<unknown>)] : Object.entries(source));
  return attempt(() => entries().filter(isEntry)) ?? [];
}

/** A property of any value; `undefined` if it cannot be read. */
function read(value: unknown, name: string): unknown {
  return attempt(() => (value as Record<string, unknown> | null | undefined)?.[name]);
}
