/** One request of a report, and the meaning of its response. */
import { attempt, inTime, urlOf } from "../platform/host.js";
import type { Report, ReportOptions } from "../types/seenguard.js";

export type Reason = Parameters<NonNullable<ReportOptions["send"]>>[1];

/** Options of `report`, checked, with defaults. */
export interface CheckedReportOptions extends ReportOptions {
  readonly intervalMs: number;
  readonly credentials: NonNullable<ReportOptions["credentials"]>;
}

/** Timeout of the app's `headers` function. */
const HEADERS_MS = 10_000;
/** The longest `Retry-After` that is respected. */
export const LONGEST_ASKED_MS = 3_600_000;

/** A response that does not acknowledge the report. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly askedMs: number,
  ) {
    super(`the server answered ${status}`);
  }
}

/** The destination of reports. */
export const addressOf = ({ send, url = "" }: ReportOptions): string => (send ? "`send`" : url);

/**
 * Sends the request. Resolves when it is acknowledged, and rejects otherwise. Before it is sent, only the app's headers
 * are awaited: the page may be about to close. `reportNow` is called when they are ready, and may throw.
 */
export async function deliver(
  options: CheckedReportOptions,
  reportNow: () => Report,
  reason: Reason,
  signal: AbortSignal,
): Promise<void> {
  const { url = "", send, headers, credentials, fetch = globalThis.fetch } = options;
  if (send) {
    checkStatus(await send(reportNow(), reason, signal));
    return;
  }
  const asked = typeof headers === "function" ? await inTime(HEADERS_MS, "`headers`", headers()) : headers;
  const all = new Headers({ "content-type": "application/json" });
  new Headers(asked).forEach((value, name) => all.set(name, value));
  const body = JSON.stringify(reportNow());
  // A redirect to a sign-in page is no acknowledgement.
  const how = { credentials, redirect: "manual", keepalive: reason === "hide", signal } as const;
  const response = await fetch(url, { method: "POST", headers: all, body, ...how });
  // An app's function may resolve to anything.
  const { redirected, type, url: answered, body: unread } = (response as Partial<Response> | undefined) ?? {};
  // Otherwise it would hold the connection.
  attempt(() => void unread?.cancel().catch(() => {}));
  // A native bridge in place of the global `fetch` follows redirects, which the final address alone shows; an app's own
  // `fetch` may put a base path in front.
  const path = urlOf(url)?.pathname;
  const hasMoved = options.fetch === undefined && !!answered && !!path && urlOf(answered)?.pathname !== path;
  if (redirected === true || type === "opaqueredirect" || hasMoved) throw new Error("the server redirects");
  checkStatus(response);
}

/** A result without a status, as of a custom transport, acknowledges the report. */
function checkStatus(answer: unknown): void {
  const { status, headers } = (answer ?? {}) as Partial<Response>;
  if (typeof status !== "number" || (status >= 200 && status < 300)) return;
  throw new Refusal(status, retryAfterMs(attempt(() => new Headers(headers).get("retry-after")) ?? ""));
}

/** The wait that a `Retry-After` header in seconds or with a date demands. */
function retryAfterMs(header: string): number {
  const seconds = Number(header);
  const ms = seconds >= 0 ? seconds * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? Math.min(ms, LONGEST_ASKED_MS) : 0;
}
