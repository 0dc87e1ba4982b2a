/**
 * Delivery of impressions to the server: at least once each, in batches, without storms.
 *
 * What to deliver, and what again, is the Wasm module's to decide; here is how: one request at a time, at an interval or as soon as many wait;
 * after a failure with exponential backoff and jitter; offline not at all. When the page hides, as much goes out as browsers let outlive a page.
 */
import { idsOf } from "../answer.js";
import { BEGIN_BATCH } from "../asked.js";
import type { GuardCore } from "../guard/core.js";
import { failure } from "../errors.js";
import { isHidden, listen } from "../page.js";
import type { CheckedReportOptions } from "../options.js";
import type { Impression } from "../types/seenguard.js";
import { retryDelayMs } from "../timeouts.js";

/** What a reporter asks of its guard. */
type Deliveries = Pick<GuardCore, "ask" | "endBatch" | "report">;

const MAX_BATCH = 200;
/** So many wait no longer for the interval. */
const MANY = 50;
/** What all requests together that may outlive a page may weigh: browsers allow 64 KB. */
const MAX_IN_FLIGHT_BYTES = 60_000;
const BATCH_BYTES = 40_000;
/** How long what went out as the page hid counts as under way, by when the browser must have sent it. */
const LAST_ONES_MS = 1_000;
const LAST_RETRY_MS = 300_000;
/** The longest wait that a server may ask for. */
const LONGEST_ASKED_MS = 3_600_000;

export class Reporter {
  readonly #deliveries: Deliveries;
  readonly #options: CheckedReportOptions;
  readonly #intervalMs: number;
  readonly #stopping = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSending = false;
  #inFlightBytes = 0;
  #failures = 0;
  /** How long the server asked to be left alone when it refused a batch. */
  #askedMs = 0;
  #retryMs = 0;

  constructor(deliveries: Deliveries, options: CheckedReportOptions) {
    this.#deliveries = deliveries;
    this.#options = options;
    this.#intervalMs = options.intervalMs;
    const { signal } = this.#stopping;
    listen(signal, ["pagehide", "visibilitychange"], () => {
      if (isHidden()) this.#deliverLast();
    });
    listen(signal, ["online"], () => this.#schedule(0));
    this.#schedule(this.#intervalMs);
  }

  /** Something was recorded, and so many impressions wait now that were never delivered. */
  recorded(undelivered: number): void {
    if (!this.#isSending && this.#failures === 0 && undelivered >= MANY) this.#schedule(0);
  }

  stop(): void {
    this.#stopping.abort();
    clearTimeout(this.#timer);
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopping.signal.aborted) this.#timer = setTimeout(() => void this.#tick(), delayMs);
  }

  /** Delivers batch after batch until nothing is left or one fails. */
  async #tick(): Promise<void> {
    if (this.#isSending || isOffline()) return;
    this.#isSending = true;
    // What went out as the page hid comes first: together they could be more than browsers allow.
    while (!this.#stopping.signal.aborted && this.#inFlightBytes === 0) {
      const batch = this.#begin(BATCH_BYTES);
      if (!batch || !(await this.#deliver(batch))) break;
    }
    this.#isSending = false;
    this.#schedule(this.#untilNextMs());
  }

  #untilNextMs(): number {
    if (this.#failures > 0) return this.#retryMs;
    return this.#inFlightBytes > 0 ? Math.min(LAST_ONES_MS, this.#intervalMs) : this.#intervalMs;
  }

  /** Takes a batch whose body is at most so many bytes. An id's JSON may be longer than the id, so the body decides. */
  #begin(mostBytes: number): Batch | undefined {
    let most = MAX_BATCH;
    while (mostBytes > 0) {
      const answer = this.#deliveries.ask(BEGIN_BATCH, [], most, mostBytes);
      const [[number = 0]] = answer;
      if (number === 0) return undefined;
      const impressions = idsOf(answer).map(([id, at]) => ({ id, at }));
      const body = JSON.stringify({ impressions });
      const bytes = new TextEncoder().encode(body).length;
      // One that is too long alone goes alone.
      if (bytes <= mostBytes || (impressions.length === 1 && mostBytes === BATCH_BYTES))
        return { number, impressions, body, bytes };
      this.#deliveries.endBatch(number, false);
      if (impressions.length === 1) return undefined;
      most = Math.ceil(impressions.length / 2);
    }
    return undefined;
  }

  /** Delivers a batch. Whether it arrived. */
  async #deliver(batch: Batch, isLast = false): Promise<boolean> {
    this.#inFlightBytes += batch.bytes;
    let arrived = false;
    try {
      arrived = await this.#send(batch, isLast);
      if (arrived) this.#failures = 0;
    } catch (cause) {
      this.#failed(cause);
    }
    this.#inFlightBytes -= batch.bytes;
    this.#deliveries.endBatch(batch.number, arrived);
    return arrived;
  }

  /** Up to where the request is made this waits for nothing: the page may be gone by then. */
  async #send({ impressions, body, bytes }: Batch, isLast: boolean): Promise<boolean> {
    const { url, headers, send } = this.#options;
    if (send) {
      await send(impressions);
      return true;
    }
    // A beacon cannot carry headers, and nobody tells whether it arrived: it counts as sent, not as delivered. As text: JSON would need a preflight,
    // for which there is no time.
    const beacon = isLast && headers === undefined ? (navigator as Partial<Navigator>) : undefined;
    if (beacon?.sendBeacon?.(url, body)) {
      await new Promise((resolve) => setTimeout(resolve, LAST_ONES_MS));
      return false;
    }
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
      // A request with keepalive outlives the page; browsers refuse one that is too large.
      keepalive: bytes <= MAX_IN_FLIGHT_BYTES,
    });
    if (response.ok) return true;
    this.#askedMs = retryAfterMs(response.headers.get("retry-after") ?? "");
    throw new Error(`the server answered ${response.status}`);
  }

  #failed(cause: unknown): void {
    // Not earlier than asked, and not all at once.
    const asked = this.#askedMs * (1 + Math.random() / 4);
    this.#askedMs = 0;
    this.#retryMs = Math.max(retryDelayMs(this.#failures++, LAST_RETRY_MS), asked);
    // Once for a row of failures.
    if (this.#failures > 1) return;
    const message = `impressions could not be delivered to ${this.#options.url} and are tried again`;
    this.#deliveries.report(failure("delivery", message, cause));
  }

  /** The page hides and may never be seen again. */
  #deliverLast(): void {
    if (isOffline() || this.#failures > 0) return;
    for (;;) {
      const batch = this.#begin(MAX_IN_FLIGHT_BYTES - this.#inFlightBytes);
      if (!batch) return;
      void this.#deliver(batch, true);
    }
  }
}

interface Batch {
  readonly number: number;
  readonly impressions: Impression[];
  readonly body: string;
  readonly bytes: number;
}

/** The header's seconds or date as a wait from now on. */
function retryAfterMs(header: string): number {
  const seconds = Number(header);
  const ms = seconds >= 0 ? seconds * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? Math.min(ms, LONGEST_ASKED_MS) : 0;
}

/** Not every navigator tells: Node's does not. */
function isOffline(): boolean {
  return (globalThis.navigator as Navigator | undefined)?.onLine === false;
}
