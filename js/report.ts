/**
 * Delivery of impressions to the server: at least once each, in batches, without storms.
 *
 * What to deliver, and what again, is the Wasm module's to decide; here is how: one request at a time, at an interval or as soon as many wait;
 * after a failure with exponential backoff and jitter; offline not at all. When the page hides, as much goes out as browsers let outlive a page.
 */
import { describe, SeenGuardError, type ErrorListener } from "./errors.js";
import type { Impression, ReportOptions } from "./seenguard.js";

/** What a reporter asks of its guard. */
export interface Deliveries {
  /** The next batch: its number, 0 if there is nothing to deliver. */
  beginBatch(impressions: number, bytes: number): { batch: number; impressions: Impression[] };
  endBatch(batch: number, arrived: boolean): void;
  undelivered(): number;
}

const DEFAULT_INTERVAL_MS = 5_000;
const MAX_BATCH = 200;
/** So many wait no longer for the interval. */
const MANY = 50;
/** What all requests together that may outlive a page may weigh: browsers allow 64 KB. */
const MAX_IN_FLIGHT_BYTES = 60_000;
const BATCH_BYTES = 40_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 300_000;
/** The longest wait that a server may ask for. */
const LONGEST_ASKED_MS = 3_600_000;

export class Reporter {
  readonly #deliveries: Deliveries;
  readonly #options: ReportOptions;
  readonly #intervalMs: number;
  readonly #report: ErrorListener;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSending = false;
  #inFlightBytes = 0;
  #failures = 0;
  #retryAt = 0;
  #stopped = false;
  #stopListening = () => {};

  constructor(deliveries: Deliveries, options: ReportOptions, report: ErrorListener) {
    this.#deliveries = deliveries;
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? DEFAULT_INTERVAL_MS;
    this.#report = report;
    this.#listen();
    this.#schedule(this.#intervalMs);
  }

  /** Something was recorded. */
  recorded(): void {
    if (!this.#isSending && this.#failures === 0 && this.#deliveries.undelivered() >= MANY) this.#schedule(0);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#stopListening();
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#tick(), delayMs);
  }

  /** Delivers batch after batch until nothing is left or one fails. */
  async #tick(): Promise<void> {
    if (this.#isSending || isOffline()) return;
    this.#isSending = true;
    while (!this.#stopped && this.#inFlightBytes === 0 && (await this.#deliverOne()));
    this.#isSending = false;
    this.#schedule(this.#untilNextMs());
  }

  #untilNextMs(): number {
    if (this.#failures > 0) return Math.max(0, this.#retryAt - performance.now());
    // What went out as the page hid comes first: together they could be more than browsers allow.
    return this.#inFlightBytes > 0 ? Math.min(FIRST_RETRY_MS, this.#intervalMs) : this.#intervalMs;
  }

  /** Delivers a batch. Whether there may be more. */
  async #deliverOne(): Promise<boolean> {
    const batch = this.#begin(BATCH_BYTES);
    if (batch === undefined) return false;
    this.#inFlightBytes += batch.bytes;
    try {
      await this.#send(batch);
      this.#deliveries.endBatch(batch.number, true);
      this.#failures = 0;
      return true;
    } catch (cause) {
      this.#deliveries.endBatch(batch.number, false);
      this.#failed(cause);
      return false;
    } finally {
      this.#inFlightBytes -= batch.bytes;
    }
  }

  /** Takes a batch whose body is at most so many bytes. An id's JSON may be longer than the id, so the body decides. */
  #begin(mostBytes: number): Batch | undefined {
    for (
      let limit = mostBytes, most = MAX_BATCH;
      limit > 0;
      limit = Math.floor(limit / 2), most = Math.ceil(most / 2)
    ) {
      const { batch, impressions } = this.#deliveries.beginBatch(most, limit);
      if (batch === 0) return undefined;
      const body = JSON.stringify({ impressions });
      const bytes = new TextEncoder().encode(body).length;
      // One that is too long alone goes alone.
      if (bytes <= mostBytes || (impressions.length === 1 && mostBytes === BATCH_BYTES))
        return { number: batch, impressions, body, bytes };
      this.#deliveries.endBatch(batch, false);
      if (impressions.length === 1) return undefined;
    }
    return undefined;
  }

  async #send({ impressions, body, bytes }: Batch): Promise<void> {
    const { url, headers, send } = this.#options;
    if (send !== undefined) {
      await send(impressions);
      return;
    }
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
      // A request with keepalive outlives the page; browsers refuse one that is too large.
      keepalive: bytes <= MAX_IN_FLIGHT_BYTES,
    });
    if (!response.ok) throw new Refusal(response);
  }

  #failed(cause: unknown): void {
    this.#failures++;
    const backoff = Math.min(FIRST_RETRY_MS * 2 ** (this.#failures - 1), LAST_RETRY_MS);
    const asked = cause instanceof Refusal ? cause.retryAfterMs : 0;
    // Not earlier than asked, and not all at once.
    const wait = Math.max(backoff * (0.5 + Math.random() / 2), asked * (1 + Math.random() / 4));
    this.#retryAt = performance.now() + wait;
    // Once for a row of failures.
    if (this.#failures === 1) {
      const message = `impressions could not be delivered to ${this.#options.url} and are tried again: ${describe(cause)}`;
      this.#report(new SeenGuardError("delivery", message, cause));
    }
  }

  #listen(): void {
    if (typeof window === "undefined" || typeof document === "undefined") return;
    const onHide = () => {
      if (document.visibilityState === "hidden") this.#deliverLast();
    };
    const onOnline = () => {
      this.#schedule(0);
    };
    window.addEventListener("pagehide", onHide);
    document.addEventListener("visibilitychange", onHide);
    window.addEventListener("online", onOnline);
    this.#stopListening = () => {
      window.removeEventListener("pagehide", onHide);
      document.removeEventListener("visibilitychange", onHide);
      window.removeEventListener("online", onOnline);
    };
  }

  /** The page hides and may never be seen again. */
  #deliverLast(): void {
    if (isOffline() || this.#failures > 0) return;
    for (;;) {
      const batch = this.#begin(MAX_IN_FLIGHT_BYTES - this.#inFlightBytes);
      if (batch === undefined) return;
      this.#sendLast(batch);
    }
  }

  /** A beacon cannot carry headers, and nobody tells whether it arrived: it counts as sent, not as delivered. */
  #sendLast(batch: Batch): void {
    const { headers, send, url } = this.#options;
    const canBeacon = send === undefined && headers === undefined && typeof navigator.sendBeacon === "function";
    this.#inFlightBytes += batch.bytes;
    const done = (arrived: boolean) => {
      this.#inFlightBytes -= batch.bytes;
      this.#deliveries.endBatch(batch.number, arrived);
    };
    // As text: JSON would need a preflight, for which there is no time.
    if (canBeacon && navigator.sendBeacon(url, batch.body)) {
      // What the beacon carries counts as under way until the browser must have sent it.
      setTimeout(done, FIRST_RETRY_MS, false);
    } else {
      this.#send(batch).then(
        () => {
          done(true);
        },
        (cause: unknown) => {
          done(false);
          this.#failed(cause);
        },
      );
    }
  }
}

interface Batch {
  readonly number: number;
  readonly impressions: Impression[];
  readonly body: string;
  readonly bytes: number;
}

/** An answer that is no success. */
class Refusal extends Error {
  /** How long the server asks to be left alone. */
  readonly retryAfterMs: number;

  constructor(response: Response) {
    super(`the server answered ${String(response.status)}`);
    this.retryAfterMs = retryAfterMs(response.headers.get("retry-after") ?? "");
  }
}

/** The header's seconds or date as a wait from now on. */
function retryAfterMs(header: string): number {
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? Math.min(ms, LONGEST_ASKED_MS) : 0;
}

/** Not every navigator tells: Node's does not. */
function isOffline(): boolean {
  return typeof navigator !== "undefined" && (navigator as Partial<Navigator>).onLine === false;
}
