/** One request of a report, and the meaning of its response. */
import { attempt, rejectAfter } from "../platform/host.js";
import type { Report, ReportOptions } from "../types/seenguard.js";
import type { Batch } from "./batches.js";

export type Reason = Parameters<NonNullable<ReportOptions["send"]>>[1];

/** Options of `report`, checked, with defaults. */
export interface CheckedReportOptions extends ReportOptions {
  readonly intervalMs: number;
  readonly credentials: NonNullable<ReportOptions["credentials"]>;
}

/** Timeout of a request, including the app's headers. */
const REQUEST_MS = 30_000;
/** Timeout of the app's `headers` function. */
const HEADERS_MS = 10_000;
/** The longest `Retry-After` that is respected. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** A response that does not acknowledge the report. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly retryAfterMs: number,
  ) {
    super(`the server responded with status ${status}`);
  }
}

/** The destination of reports, in words. */
export const addressOf = ({ send, url = "" }: ReportOptions): string => (send ? "`send`" : url);

/** The request that sends one batch. */
export class DeliveryRequest {
  /** Whether the report was passed to the transport. */
  isSent = false;
  private readonly controller = new AbortController();
  private reject: (cause: unknown) => void = () => {};
  private readonly aborted = new Promise<never>((_, reject) => (this.reject = reject));

  constructor(
    readonly batch: Batch,
    readonly reason: Reason,
    readonly options: CheckedReportOptions,
  ) {}

  /**
   * Sends the report. Resolves when it is acknowledged, and rejects otherwise, within the timeout. Before it is sent,
   * only the app's headers are awaited: the page may be about to close. `reportNow` is called when they are ready, and
   * may throw.
   */
  async run(reportNow: () => Report): Promise<void> {
    const { options, reason, controller } = this;
    const report = () => {
      const made = reportNow();
      this.isSent = true;
      return made;
    };
    try {
      const sending = send(options, report, reason, controller.signal);
      await rejectAfter(REQUEST_MS, addressOf(options), Promise.race([this.aborted, sending]));
    } catch (cause) {
      this.abort(cause);
      throw cause;
    }
  }

  /** Stops waiting for the response. If `headers` resolves later, nothing is sent. */
  abort(cause: unknown): void {
    this.controller.abort(cause);
    this.reject(cause);
  }
}

async function send(
  options: CheckedReportOptions,
  reportNow: () => Report,
  reason: Reason,
  signal: AbortSignal,
): Promise<void> {
  const { url = "", headers, credentials, fetch = globalThis.fetch } = options;
  if (options.send) {
    checkStatus(await options.send(reportNow(), reason, signal));
    return;
  }
  const added = typeof headers === "function" ? await rejectAfter(HEADERS_MS, "`headers`", headers()) : headers;
  const all = new Headers({ "content-type": "application/json" });
  new Headers(added).forEach((value, name) => all.set(name, value));
  const body = JSON.stringify(reportNow());
  // The response after a redirect, such as a sign-in page, does not acknowledge the report.
  const how = { credentials, redirect: "manual", keepalive: reason === "hide", signal } as const;
  const response = await fetch(url, { method: "POST", headers: all, body, ...how });
  // An app's function may resolve to anything.
  const { redirected, type, body: unread } = (response as Partial<Response> | undefined) ?? {};
  // An unread body would occupy the connection.
  attempt(() => void unread?.cancel().catch(() => {}));
  if (redirected === true || type === "opaqueredirect") throw new Error("the server redirects");
  checkStatus(response);
}

/** Throws a `Refusal` unless the status is a success. A result without a status, as of a custom transport, is one. */
function checkStatus(result: unknown): void {
  const { status, headers } = (result ?? {}) as Partial<Response>;
  if (typeof status !== "number" || (status >= 200 && status < 300)) return;
  throw new Refusal(status, retryAfterMs(attempt(() => new Headers(headers).get("retry-after")) ?? ""));
}

/** The delay that a `Retry-After` header requests, in seconds or as a date. */
function retryAfterMs(header: string): number {
  const seconds = Number(header);
  const ms = seconds >= 0 ? seconds * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : 0;
}
