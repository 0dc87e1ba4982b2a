/**
 * Delivery of impressions, and of what is unseen, to the server: at least once each, in batches, without storms.
 *
 * The engine decides what to deliver, and what again; here is how: one request at a time, at an interval or as soon as
 * many wait; after a failure with exponential backoff and jitter; offline not at all. When the page hides, as much goes
 * out as browsers let outlive a page. When the server refuses the session, nothing more of the namespace goes out.
 */
import { inTime, isHidden, listen, pause, retryDelayMs, type Clock } from "../host.js";
import { failure, SeenGuardError, type ErrorListener } from "../errors.js";
import { TextEncoder } from "../text-encoding.js";
import type { Impression, Report, ReportOptions } from "../types/seenguard.js";

/** Impressions, and what is unseen. Batch 0: nothing is to be delivered. */
interface BegunBatch {
  readonly batch: number;
  readonly impressions: Impression[];
  readonly unseen: Impression[];
}

/** Where impressions come from. */
interface Deliveries {
  readonly options: { readonly namespace: string };
  /** Takes a batch, of which nobody else delivers anything until it ends. */
  beginBatch(maxImpressions: number, maxBytes: number): BegunBatch;
  endBatch(batch: number, arrived: boolean): void;
  /** What this device tells of what is pending. */
  pendingList(): string;
  /** The number of the latest clear. */
  readonly number: number;
  /** Where no signal tells of a clear: resolves when it is known of. */
  lookBefore(): Promise<unknown> | undefined;
  readonly report: ErrorListener;
}

type Options = ReportOptions & { readonly intervalMs: number };
type Reason = Parameters<NonNullable<ReportOptions["send"]>>[1];

const MAX_BATCH = 200;
/** So many are delivered without waiting for the interval. */
const MANY = 50;
/** All requests together that may outlive a page: browsers allow 64 KB. */
const MAX_IN_FLIGHT_BYTES = 60_000;
const BATCH_BYTES = 40_000;
/** How long a request, or `send`, may take, and how long `headers`. What comes later counts as not arrived. */
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;
/** How long a beacon counts as under way. */
const BEACON_MS = 1_000;
const LAST_RETRY_MS = 300_000;
/** The longest wait that a server may ask for. */
const LONGEST_ASKED_MS = 3_600_000;

/** Answers that say that the session is not that of the namespace's person. */
const REFUSALS = [403, 409];
/** Namespaces whose impressions were refused so in this document. */
const refused = new Set<string>();

export class Reporter {
  /** How many impressions and takings back were delivered, and how many are under way. */
  delivered = 0;
  underWay = 0;
  private readonly deliveries: Deliveries;
  private readonly options: Options;
  private readonly clock: Clock;
  private readonly intervalMs: number;
  private readonly stopListening: () => void;
  private isStopped = false;
  private readonly encoder = new TextEncoder();
  private cancelTimer = (): void => {};
  private sending: Promise<void> | undefined;
  /** The batches that are under way. */
  private readonly inFlight = new Set<Promise<boolean>>();
  private inFlightBytes = 0;
  private failures = 0;
  /** How long the server asked to be left alone when it refused a batch. */
  private askedMs = 0;
  private retryMs = 0;

  constructor(deliveries: Deliveries, options: Options, clock: Clock) {
    this.deliveries = deliveries;
    this.options = options;
    this.clock = clock;
    this.intervalMs = options.intervalMs;
    this.stopListening = listen(["pagehide", "visibilitychange", "online"], ({ type }) => {
      if (type === "online") this.schedule(0);
      else if (isHidden()) this.deliverLast(true);
    });
    this.schedule(this.intervalMs);
  }

  /** Something was recorded, and so many impressions wait now that were never delivered. */
  recorded(undelivered: number): void {
    if (!this.sending && this.failures === 0 && undelivered >= MANY) this.schedule(0);
  }

  /** Delivers at once what waits, though it was to wait after a failure, until nothing is left or a batch fails. */
  async deliverNow(): Promise<void> {
    await Promise.all(this.inFlight);
    await this.sending;
    await this.send("deliver");
  }

  /** Delivers what waits as when the page hides. Resolves when nothing is under way any more. */
  async leave(): Promise<void> {
    if (!this.isStopped) this.deliverLast(false);
    await Promise.all(this.inFlight);
  }

  stop(): void {
    this.isStopped = true;
    this.stopListening();
    this.cancelTimer();
  }

  private schedule(delayMs: number): void {
    this.cancelTimer();
    if (!this.isOver) this.cancelTimer = this.clock.after(delayMs, () => void this.send("interval"));
  }

  /** Whether nothing more is to be sent. */
  private get isOver(): boolean {
    return this.isStopped || refused.has(this.deliveries.options.namespace);
  }

  /** Delivers batch after batch until nothing is left or one fails, and then again after a while. */
  private async send(reason: Reason): Promise<void> {
    if (this.sending) return this.sending;
    if (isOffline()) {
      // Not every browser says when it is online again.
      this.schedule(this.intervalMs);
      return;
    }
    const looking = this.deliveries.lookBefore();
    if (looking) await (this.sending = looking.then(() => (this.sending = undefined)));
    const first = this.next();
    // At once where there is nothing to wait for: a test's clock runs through many intervals in one task.
    if (!first) {
      this.schedule(this.untilNextMs());
      return;
    }
    this.sending = this.sendFrom(first, reason).then(() => {
      this.sending = undefined;
      this.schedule(this.untilNextMs());
    });
    await this.sending;
  }

  private async sendFrom(first: Batch, reason: Reason): Promise<void> {
    let batch: Batch | undefined = first;
    while (batch && (await this.deliver(batch, reason))) {
      // A transport that answers at once must not keep the page from everything else.
      await pause();
      batch = this.next();
    }
  }

  private next(): Batch | undefined {
    // What went out as the page hid comes first: together they could be more than browsers allow.
    return this.isOver || this.inFlightBytes > 0 ? undefined : this.begin(BATCH_BYTES);
  }

  private untilNextMs(): number {
    if (this.failures > 0) return this.retryMs;
    return this.inFlightBytes > 0 ? Math.min(BEACON_MS, this.intervalMs) : this.intervalMs;
  }

  /** Takes a batch whose body is at most so many bytes. An id's JSON may be longer than the id, so the body decides. */
  private begin(mostBytes: number): Batch | undefined {
    let most = MAX_BATCH;
    while (mostBytes > 0) {
      const begun = this.deliveries.beginBatch(most, mostBytes);
      const { batch, impressions, unseen } = begun;
      if (batch === 0) return undefined;
      const count = impressions.length + unseen.length;
      const report = this.reportOf(begun);
      const body = JSON.stringify(report);
      const bytes = this.encoder.encode(body).length;
      // One that is too long alone goes alone.
      if (bytes <= mostBytes || (count === 1 && mostBytes === BATCH_BYTES))
        return { batch, report, body, bytes, number: this.deliveries.number };
      this.deliveries.endBatch(batch, false);
      if (count === 1) return undefined;
      most = Math.ceil(count / 2);
    }
    return undefined;
  }

  private reportOf({ impressions, unseen }: BegunBatch): Report {
    return {
      namespace: this.deliveries.options.namespace,
      now: this.clock.wallMs(),
      impressions,
      ...(unseen.length > 0 ? { unseen } : {}),
      pending: this.deliveries.pendingList(),
    };
  }

  /** Delivers a batch. Whether it arrived. `mayEnd`: the page may be gone before an answer comes. */
  private deliver(batch: Batch, reason: Reason, mayEnd = false): Promise<boolean> {
    const delivery = this.tryToDeliver(batch, reason, mayEnd);
    this.inFlight.add(delivery);
    return delivery.finally(() => this.inFlight.delete(delivery));
  }

  private async tryToDeliver(batch: Batch, reason: Reason, mayEnd: boolean): Promise<boolean> {
    const { impressions, unseen = [] } = batch.report;
    const count = impressions.length + unseen.length;
    this.inFlightBytes += batch.bytes;
    this.underWay += count;
    let arrived = false;
    try {
      arrived = await this.request(batch, reason, mayEnd);
      if (arrived) {
        this.failures = 0;
        this.delivered += count;
      }
    } catch (cause) {
      this.failed(cause);
    }
    this.inFlightBytes -= batch.bytes;
    this.underWay -= count;
    this.deliveries.endBatch(batch.batch, arrived);
    return arrived;
  }

  /** Up to where the request is made this waits for nothing but the app's headers: the page may be gone by then. */
  private async request({ report, body, bytes, number }: Batch, reason: Reason, mayEnd: boolean): Promise<boolean> {
    const { url = "", headers, send } = this.options;
    if (send) {
      await inTime(REQUEST_MS, "`send`", send(report, reason));
      return true;
    }
    // A beacon cannot carry headers, and nobody tells whether it arrived: it counts as sent, not as delivered. As text:
    // JSON would need a preflight, for which there is no time.
    const beacon = mayEnd && headers === undefined ? (navigator as Partial<Navigator>) : undefined;
    if (beacon?.sendBeacon?.(url, body)) {
      await pause(BEACON_MS);
      return false;
    }
    const asked = typeof headers === "function" ? await inTime(HEADERS_MS, "`headers`", headers()) : headers;
    // The app may have stopped this meanwhile because another person signs in, or the namespace was cleared.
    if ((this.isOver && reason !== "hide") || this.deliveries.number !== number) return false;
    const request = fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...asked },
      body,
      // A request with keepalive outlives the page; browsers refuse one that is too large.
      keepalive: bytes <= MAX_IN_FLIGHT_BYTES,
    });
    const response = await inTime(REQUEST_MS, "the server", request);
    if (response.ok) return true;
    if (REFUSALS.includes(response.status)) {
      this.refuse(response.status);
      return false;
    }
    this.askedMs = retryAfterMs(response.headers.get("retry-after") ?? "");
    throw new Error(`the server answered ${response.status}`);
  }

  /** The impressions are kept for the next document, which may have the session of their person. */
  private refuse(status: number): void {
    const { namespace } = this.deliveries.options;
    if (refused.has(namespace)) return;
    refused.add(namespace);
    const message =
      `the server answered ${status}: the session is not that of the namespace "${namespace}"; ` +
      "its impressions are kept, and this document does not send them again";
    this.deliveries.report(new SeenGuardError("delivery", message));
  }

  private failed(cause: unknown): void {
    // Not earlier than asked, and not all at once.
    const asked = this.askedMs * (1 + Math.random() / 4);
    this.askedMs = 0;
    this.retryMs = Math.max(retryDelayMs(this.failures++, LAST_RETRY_MS), asked);
    // Once for a row of failures.
    if (this.failures > 1) return;
    const { url = "`send`" } = this.options;
    const message = `impressions could not be delivered to ${url} and are tried again`;
    this.deliveries.report(failure("delivery", message, cause));
  }

  /** The page hides and may never be seen again, or the guard closes. */
  private deliverLast(mayEnd: boolean): void {
    if (this.isOver || isOffline() || this.failures > 0) return;
    for (;;) {
      const batch = this.begin(MAX_IN_FLIGHT_BYTES - this.inFlightBytes);
      if (!batch) return;
      void this.deliver(batch, "hide", mayEnd);
    }
  }
}

interface Batch {
  readonly batch: number;
  readonly report: Report;
  readonly body: string;
  readonly bytes: number;
  /** Of the latest clear when it was begun. */
  readonly number: number;
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
