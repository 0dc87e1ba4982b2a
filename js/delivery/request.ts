/** One request of a report: what makes it, and what its answer says. */
import { attempt, inTime, urlOf } from "../platform/host.js";
import type { Report, ReportOptions } from "../types/seenguard.js";

export type Reason = Parameters<NonNullable<ReportOptions["send"]>>[1];

/** Options of `report`, checked and with their defaults. */
export interface CheckedReportOptions extends ReportOptions {
  readonly intervalMs: number;
  readonly credentials: NonNullable<ReportOptions["credentials"]>;
}

/** How long an app's function for headers may take. */
const HEADERS_MS = 10_000;
/** The longest wait that a server may ask for. */
export const LONGEST_ASKED_MS = 3_600_000;

/** An answer that is no receipt. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly askedMs: number,
  ) {
    super(`the server answered ${status}`);
  }
}

/** Where reports go. */
export const addressOf = ({ send, url = "" }: ReportOptions): string => (send ? "`send`" : url);

/**
 * Makes the request. Resolves when it has arrived, and rejects where its answer says otherwise. It waits for nothing but
 * the app's headers first: the page may be gone by then. `reportNow` is called when they have come, and may throw.
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
  // The page of a sign-in is no receipt.
  const how = { credentials, redirect: "manual", keepalive: reason === "hide", signal } as const;
  const response = await fetch(url, { method: "POST", headers: all, body, ...how });
  if (isRedirected(response, url)) throw new Error("the server redirects");
  checkStatus(response);
}

/** A native bridge in place of `fetch` follows redirects whatever it is asked: then the address tells, if it is known. */
function isRedirected(response: Response | undefined, asked: string): boolean {
  const { redirected, type, url } = response ?? ({} as Partial<Response>);
  const path = urlOf(asked)?.pathname;
  return redirected === true || type === "opaqueredirect" || (!!url && !!path && urlOf(url)?.pathname !== path);
}

/** What has no status, as a transport of the app's own may have it, has arrived. */
function checkStatus(answer: unknown): void {
  const { status, headers } = (answer ?? {}) as Partial<Response>;
  if (typeof status !== "number" || (status >= 200 && status < 300)) return;
  throw new Refusal(status, retryAfterMs(attempt(() => new Headers(headers).get("retry-after")) ?? ""));
}

/** The header's seconds or date as a wait from now on. */
function retryAfterMs(header: string): number {
  const seconds = Number(header);
  const ms = seconds >= 0 ? seconds * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? Math.min(ms, LONGEST_ASKED_MS) : 0;
}
