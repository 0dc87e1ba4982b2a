/**
 * A `fetch` for API clients that one does not own: it adds to the requests that match what goes with a request for a
 * page, and applies the snapshot of their answers before it hands these on.
 */
import { attempt } from "../host.js";
import { callBack } from "../errors.js";
import { isObject, ownValue } from "../options.js";
import type { GuardedFetchOptions, SeenGuard, Snapshot } from "../types/seenguard.js";

type Fetch = typeof globalThis.fetch;
type Guard = Pick<SeenGuard, "apply" | "headers">;
type Match = GuardedFetchOptions["match"];

/** `application/json`, or one of its kind such as `application/problem+json`; not a stream of several values. */
const JSON_TYPE = /^application\/(?:[^;]*\+)?json\s*(?:;|$)/i;

export function guardedFetch(guard: Guard, { match, fetch: given }: GuardedFetchOptions): Fetch {
  return async (input, init) => {
    // At each request: an app may replace `fetch` after this was made.
    const send = given ?? globalThis.fetch;
    const request = attempt(() => describeRequest(input, init));
    if (!request || !matches(request, match)) return send(input, init);
    for (const [name, value] of Object.entries(guard.headers())) request.headers.set(name, value);
    const response = await send(input, { ...init, headers: request.headers });
    await applySnapshot(guard, response);
    return response;
  };
}

/** The request without its body, which can be read only once. */
function describeRequest(input: RequestInfo | URL, init: RequestInit = {}): Request {
  const { url, method, headers } = input instanceof Request ? input : new Request(input);
  return new Request(url, { method: init.method ?? method, headers: init.headers ?? headers });
}

function matches(request: Request, match: Match): boolean {
  if (typeof match === "string") return request.url.includes(match);
  // Unlike `test`, `search` does not go on from where a global expression was.
  if (match instanceof RegExp) return request.url.search(match) >= 0;
  return callBack(match, request) === true;
}

/** Takes the snapshot of a JSON answer, of which the caller can read everything afterwards. */
async function applySnapshot(guard: Guard, response: Response): Promise<void> {
  try {
    if (!JSON_TYPE.test(response.headers.get("content-type") ?? "")) return;
    const body: unknown = await response.clone().json();
    const snapshot = isObject(body) ? ownValue(body, "snapshot") : undefined;
    // Without the list, this is some other API's field of that name.
    if (isObject(snapshot) && Array.isArray(ownValue(snapshot, "shards"))) guard.apply(snapshot as object as Snapshot);
  } catch {
    // What cannot be read is the caller's to find.
  }
}
