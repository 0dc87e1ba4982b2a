/**
 * A `fetch` for API clients that the app cannot change, or a replacement of `window.fetch`: it adds the guard's headers
 * to the requests that match, and applies the snapshot of a response before its `json` or `text` resolves.
 */
import { attempt, urlOf } from "../platform/host.js";
import { callBack, errorNameOf } from "../errors.js";
import { isFunction, isObject, ownValue } from "../input/options.js";
import { isSnapshot } from "../input/snapshot.js";
import type { ApplyResult, GuardedFetchOptions, MatchedRequest } from "../types/seenguard.js";

type Fetch = typeof globalThis.fetch;

/** The part of an open guard that is used here. */
interface Guard {
  apply(snapshot: unknown): ApplyResult;
  headers(): Record<string, string>;
}

/** Statuses of servers that refuse unknown or long headers. */
const REFUSALS = [400, 431];

/**
 * `guard` returns undefined once it is closed. Without `match`, which a build for production does not check, no request
 * matches.
 */
export function guardedFetch(
  guard: () => Guard | undefined,
  { match, fetch: send = globalThis.fetch }: Partial<GuardedFetchOptions>,
): Fetch {
  return async (input, init) => {
    const request = attempt(() => describeRequest(input, init));
    const headers = request && match && matches(request, match) ? guard()?.headers() : undefined;
    if (!request || !headers) return send(input, init);
    const response = await sendWith(headers, request, send, input, init);
    const applySnapshot = (body: unknown) => {
      const snapshot = isObject(body) ? ownValue(body, "snapshot") : undefined;
      if (isSnapshot(snapshot)) guard()?.apply(snapshot);
    };
    watchBody(response, applySnapshot);
    return response;
  };
}

/** The input if it is a Request, also one of another frame. */
function asRequest(input: RequestInfo | URL): Request | undefined {
  return isObject(input) && "url" in input ? (input as object as Request) : undefined;
}

function signalOf(input: RequestInfo | URL, init: RequestInit | undefined): AbortSignal | null | undefined {
  return attempt(() => init?.signal ?? asRequest(input)?.signal);
}

function describeRequest(input: RequestInfo | URL, init: RequestInit | undefined): MatchedRequest {
  const request = asRequest(input);
  const address = request?.url ?? (input as string | URL).toString();
  return {
    url: urlOf(address)?.href ?? address,
    method: (init?.method ?? request?.method ?? "GET").toUpperCase(),
    init,
  };
}

/** The page's origin; undefined: there is none, as in Node, or it is opaque, as in a file. */
function pageOrigin(): string | undefined {
  const origin = (globalThis as Partial<typeof globalThis>).location?.origin;
  return origin === "null" ? undefined : origin;
}

function matches(request: MatchedRequest, match: GuardedFetchOptions["match"]): boolean {
  // Unlike `test`, `search` ignores the `lastIndex` of a global expression.
  if (match instanceof RegExp) return request.url.search(match) >= 0;
  if (typeof match === "function") return callBack(match, request) === true;
  const url = urlOf(request.url);
  const [path, origin] = typeof match === "string" ? [match, pageOrigin()] : [match.pathname, match.origin];
  return (
    url !== undefined &&
    (origin === undefined || url.origin === origin) &&
    (url.pathname === path || url.pathname.startsWith(path.endsWith("/") ? path : `${path}/`))
  );
}

/** `init` with the guard's headers added to the app's, in the form in which the app passed them. */
function initWith(added: Record<string, string>, input: RequestInfo | URL, init: RequestInit = {}): RequestInit {
  const all: Record<string, unknown> = {};
  // `init` may be a Request, whose fields are inherited, as are its methods.
  for (const name in init) {
    const value: unknown = init[name as keyof RequestInit];
    if (!isFunction(value)) all[name] = value;
  }
  Object.assign(all, init);
  const request = asRequest(input);
  // An `init` replaces a Request's headers, and resets its referrer and referrer policy.
  const { referrer, referrerPolicy, headers = {} } = request ?? {};
  const inherited = request && { referrer, referrerPolicy };
  return { ...inherited, ...all, headers: addHeaders(init.headers ?? headers, added) } as RequestInit;
}

function addHeaders(given: HeadersInit, added: Record<string, string>): HeadersInit {
  const names = Object.keys(added).map((name) => name.toLowerCase());
  const isOther = ([name]: readonly unknown[]) => !names.includes(String(name).toLowerCase());
  if (Array.isArray(given)) return [...given.filter(isOther), ...Object.entries(added)];
  if (!(Symbol.iterator in given)) return { ...Object.fromEntries(Object.entries(given).filter(isOther)), ...added };
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(added)) headers.set(name, value);
  return headers;
}

/**
 * Sends a request with the headers. A GET that is refused is sent again without them: no other request may be sent
 * twice, so those get the headers on the page's own origin alone, where no preflight request can refuse them. The app
 * gets the last response, even if it is the refusal.
 */
async function sendWith(
  headers: Record<string, string>,
  { url, method }: MatchedRequest,
  send: Fetch,
  input: RequestInfo | URL,
  init: RequestInit | undefined,
): Promise<Response> {
  if (Object.keys(headers).length === 0) return send(input, init);
  const withHeaders = () => send(input, attempt(() => initWith(headers, input, init)) ?? init);
  const origin = pageOrigin();
  if (method !== "GET") return origin && urlOf(url)?.origin !== origin ? send(input, init) : withHeaders();
  let refusal: Response | undefined;
  try {
    refusal = await withHeaders();
    if (!REFUSALS.includes((refusal as Response | undefined)?.status ?? 0)) return refusal;
  } catch (error) {
    // A refused preflight request and a failed network raise the same error.
    if (signalOf(input, init)?.aborted || errorNameOf(error) !== "TypeError") throw error;
  }
  try {
    const response = await send(input, init);
    // An unread body would occupy the connection.
    attempt(() => void refusal?.body?.cancel().catch(() => {}));
    return response;
  } catch (error) {
    if (refusal) return refusal;
    throw error;
  }
}

/**
 * Passes the body to `onBody`, once, before the app gets it. The app gets the same response object, because the `fetch`
 * of native bridges defines methods on it.
 */
function watchBody(response: Response, onBody: (body: unknown) => void): void {
  let isPassed = false;
  const reading = <T>(read: () => Promise<T>, parse: (body: T) => unknown) => {
    return async () => {
      const body = await read();
      if (!isPassed) attempt(() => onBody(parse(body)));
      isPassed = true;
      return body;
    };
  };
  const watch = (watched: Response): Response => {
    const replace = <N extends "json" | "text" | "clone">(name: N, by: (method: Response[N]) => () => unknown) =>
      attempt(() => {
        const value = by(watched[name].bind(watched) as Response[N]);
        Object.defineProperty(watched, name, { value, writable: true, configurable: true });
      });
    replace("json", (json) => reading(json, (body: unknown) => body));
    replace("text", (text) => reading(text, parseObject));
    replace("clone", (clone) => () => watch(clone()));
    return watched;
  };
  watch(response);
}

/** Parses JSON; undefined unless it is an object. */
function parseObject(text: string): unknown {
  return /^\s*\{/.test(text) ? JSON.parse(text) : undefined;
}
