/**
 * A `fetch` for API clients that one does not own, or in place of `window.fetch`: it adds to the requests that match
 * what goes with a request for a page, and takes the snapshot of an answer before its `json` or `text` resolves.
 */
import { attempt, urlOf } from "../platform/host.js";
import { callBack, errorNameOf } from "../errors.js";
import { isFunction, isObject, ownValue } from "../input/options.js";
import type { ApplyResult, GuardedFetchOptions, MatchedRequest } from "../types/seenguard.js";

type Fetch = typeof globalThis.fetch;

/** What it needs of a guard that is open. */
interface Guard {
  apply(snapshot: unknown): ApplyResult;
  headers(): Record<string, string>;
}

/**
 * What is known of each host on this visit: whether it has answered a request with the headers, none with them has come
 * through, or it was seen to refuse them.
 */
export type Hosts = Map<string, "answers" | "fails" | "refuses">;

/** What servers answer that take no such header, or not as many bytes of them. */
const REFUSALS = [400, 431];

/** `guard`: undefined once it is closed. */
export function guardedFetch(
  guard: () => Guard | undefined,
  hosts: Hosts,
  { match, fetch: send = globalThis.fetch }: GuardedFetchOptions,
): Fetch {
  return async (input, init) => {
    const request = attempt(() => describeRequest(input, init));
    const headers = request && matches(request, match) && guard()?.headers();
    if (!headers) return send(input, init);
    const withHeaders = () => send(input, attempt(() => initWith(headers, input, init)) ?? init);
    const response = await sendEitherWay(request, hosts, signalOf(input, init), withHeaders, () => send(input, init));
    const take = (body: unknown) => {
      const snapshot = isObject(body) ? ownValue(body, "snapshot") : undefined;
      // Without the list, this is some other API's field of that name.
      if (isObject(snapshot) && Array.isArray(ownValue(snapshot, "shards"))) guard()?.apply(snapshot);
    };
    watchBody(response, take);
    return response;
  };
}

/** A Request, of whatever frame. */
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

function matches(request: MatchedRequest, match: GuardedFetchOptions["match"]): boolean {
  if (typeof match === "string") return request.url.includes(match);
  // Unlike `test`, `search` does not go on from where a global expression was.
  if (match instanceof RegExp) return request.url.search(match) >= 0;
  return callBack(match, request) === true;
}

/** All that `init` has, and the headers beside those of the app, in the form in which the app has them. */
function initWith(ours: Record<string, string>, input: RequestInfo | URL, init: RequestInit = {}): RequestInit {
  const all: Record<string, unknown> = {};
  // Of a Request, which may stand here, too, the fields are inherited; so are its methods.
  for (const name in init) {
    const value: unknown = init[name as keyof RequestInit];
    if (!isFunction(value)) all[name] = value;
  }
  Object.assign(all, init);
  const request = asRequest(input);
  // With an `init`, a Request loses its referrer and policy, and its headers to those of `init`.
  const { referrer, referrerPolicy, headers = {} } = request ?? {};
  const kept = request && { referrer, referrerPolicy };
  return { ...kept, ...all, headers: addHeaders(init.headers ?? headers, ours) } as RequestInit;
}

function addHeaders(given: HeadersInit, ours: Record<string, string>): HeadersInit {
  const names = Object.keys(ours).map((name) => name.toLowerCase());
  const isOther = ([name]: readonly unknown[]) => !names.includes(String(name).toLowerCase());
  if (Array.isArray(given)) return [...given.filter(isOther), ...Object.entries(ours)];
  if (!(Symbol.iterator in given)) return { ...Object.fromEntries(Object.entries(given).filter(isOther)), ...ours };
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(ours)) headers.set(name, value);
  return headers;
}

/**
 * Sends a request with the headers, and if it is refused once more without them: a GET, for nothing else may be sent
 * twice. What has come, if only the refusal, the app gets.
 */
async function sendEitherWay(
  { url, method }: MatchedRequest,
  hosts: Hosts,
  signal: AbortSignal | null | undefined,
  withHeaders: () => Promise<Response>,
  without: () => Promise<Response>,
): Promise<Response> {
  const host = url.split("/", 3).join("/");
  const known = hosts.get(host);
  const isGet = method === "GET";
  if (known === "refuses" || (known === "fails" && !isGet)) return without();
  let refusal: Response | undefined;
  let failure: unknown;
  try {
    refusal = await withHeaders();
    if (!REFUSALS.includes((refusal as Response | undefined)?.status ?? 0)) {
      hosts.set(host, "answers");
      return refusal;
    }
  } catch (error) {
    // A preflight request that is refused, and a network that is down, look alike.
    if (signal?.aborted || errorNameOf(error) !== "TypeError") throw error;
    failure = error;
  }
  if (!known) hosts.set(host, "fails");
  try {
    if (isGet) {
      const response = await without();
      if ((response as Response | undefined)?.ok) hosts.set(host, "refuses");
      return response;
    }
  } catch (error) {
    failure = error;
  }
  if (refusal) return refusal;
  throw failure;
}

/**
 * Has `take` get what is in the body, once, before the app does. The object stays what it is: the `fetch` of native
 * bridges defines methods on it.
 */
function watchBody(response: Response, take: (body: unknown) => void): void {
  let isTaken = false;
  const reading = <T>(read: () => Promise<T>, parse: (body: T) => unknown) => {
    return async () => {
      const body = await read();
      if (!isTaken) attempt(() => take(parse(body)));
      isTaken = true;
      return body;
    };
  };
  const watch = (answer: Response): Response => {
    const replace = <N extends "json" | "text" | "clone">(name: N, by: (method: Response[N]) => () => unknown) =>
      attempt(() => {
        const value = by(answer[name].bind(answer) as Response[N]);
        Object.defineProperty(answer, name, { value, writable: true, configurable: true });
      });
    replace("json", (json) => reading(json, (body: unknown) => body));
    replace("text", (text) => reading(text, parseObject));
    replace("clone", (clone) => () => watch(clone()));
    return answer;
  };
  watch(response);
}

/** The object that a text of JSON stands for. */
function parseObject(text: string): unknown {
  return /^\s*\{/.test(text) ? JSON.parse(text) : undefined;
}
