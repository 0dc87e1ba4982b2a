/**
 * Delivery of impressions, and of what is unseen, to the server: at least once each, in batches, without storms.
 *
 * The engine decides what to deliver, and what again; here is how: one request at a time, at an interval or as soon as
 * many wait; after a failure with exponential backoff and jitter. A batch that is refused is halved until the one entry
 * that is refused is alone. As the page hides, what it recorded goes out in requests that outlive it.
 */
import { attempt, deviceClock, inTime, isHidden, listen, pause, retryDelayMs, type Clock } from "../host.js";
import { failure, type ErrorListener } from "../errors.js";
import { TextEncoder } from "../text-encoding.js";
import type { Impression, Report, ReportOptions } from "../types/seenguard.js";

/** Where impressions come from. */
interface Deliveries {
  readonly options: { readonly namespace: string };
  /** Takes a batch, which is in no other one until it ends. Batch 0: nothing is to be delivered. */
  beginBatch(
    maxImpressions: number,
    maxBytes: number,
    isLast: boolean,
  ): { readonly batch: number; readonly impressions: Impression[]; readonly unseen: Impression[] };
  /** A batch went out as the page hid: it counts as delivered unless it ends otherwise. */
  leaveBatch(batch: number): void;
  endBatch(batch: number, arrived: boolean): void;
  /** What this device tells of what is pending. */
  pendingList(): string;
  /** The number of the latest clear. */
  readonly number: number;
  /** Where no signal tells of a clear: resolves when it is known of. */
  lookBefore(): Promise<unknown> | undefined;
  readonly report: ErrorListener;
}

type Options = ReportOptions & Required<Pick<ReportOptions, "intervalMs" | "credentials">>;
type Reason = Parameters<NonNullable<ReportOptions["send"]>>[1];

interface Batch {
  readonly number: number;
  readonly impressions: Impression[];
  readonly unseen: Impression[];
  readonly count: number;
  /** Of the latest clear when it was begun. */
  readonly clear: number;
  readonly isLast: boolean;
  /** Of a last one. */
  bytes: number;
  /** Ends the wait for its answer. */
  giveUp: (cause: Error) => void;
}

const MAX_BATCH = 100;
/** About so many bytes of ids. */
const MAX_BYTES = 40_000;
/** So many are delivered without waiting for the interval. */
const MANY = 50;
/** All requests of a document that outlive it, together: browsers allow 64 KB. With less room none is begun. */
const MAX_LAST_BYTES = 60_000;
const MIN_LAST_BYTES = 1_000;
/** How long a request, or `send`, may take, and `headers` of it. */
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;
/** The longest backoff, and that of another person's session. */
const LAST_RETRY_MS = 300_000;
const CONFLICT_MS = 900_000;
/** The longest wait that a server may ask for. */
const LONGEST_ASKED_MS = 3_600_000;
/** Between two tries while the browser says that it is offline, which is not always true. */
const OFFLINE_MS = 60_000;

/** Of the requests of all guards of this document that may outlive it. */
let lastBytes = 0;

/** An answer that is no receipt. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly askedMs: number,
  ) {
    super(`the server answered ${status}`);
  }
}

/** Where reports go, as far as a namespace has one reporter. */
export const addressOf = ({ send, url = "" }: ReportOptions): string => (send ? "`send`" : url);

export class Reporter {
  /** How many impressions and takings back have arrived. */
  delivered = 0;
  /** Since when delivery has been failing, Unix ms. */
  failingSince: number | undefined;
  private readonly deliveries: Deliveries;
  private readonly clock: Clock;
  private options: Options;
  private holders = 0;
  private stopListening = (): void => {};
  private cancelTimer = (): void => {};
  private isRunning = false;
  private running = Promise.resolve();
  private leaving: Promise<unknown> = Promise.resolve();
  /** More than one only as the page hides. */
  private readonly underWay = new Set<Batch>();
  private triedMs = -Infinity;
  private failures = 0;
  private retryMs = 0;
  /** Whether the latest answer said that the session is another person's. */
  private isConflict = false;
  private askedUntilMs = 0;
  /** How many entries the next batch has at most. */
  private most = MAX_BATCH;
  private hasAccepted = false;
  /** Batches of one entry that were refused before anything was accepted: they wait until something is. */
  private suspects: number[] = [];

  constructor(deliveries: Deliveries, options: Options, clock: Clock) {
    [this.deliveries, this.options, this.clock] = [deliveries, options, clock];
  }

  get address(): string {
    return addressOf(this.options);
  }

  get isOn(): boolean {
    return this.holders > 0;
  }

  /** How many are under way or wait here. */
  get waiting(): number {
    return [...this.underWay].reduce((sum, { count }) => sum + count, this.suspects.length);
  }

  /** Runs with the latest options until `stop` was called as often. */
  start(options: Options): void {
    this.options = options;
    if (this.holders++ > 0) return;
    this.stopListening = listen(["pagehide", "pageshow", "visibilitychange", "online"], ({ type }) => {
      if (type === "online") this.schedule(this.isConflict ? this.retryMs : 0);
      else if (type === "pagehide" || isHidden()) void this.leave();
      else if (this.failures > 0) this.schedule(0);
    });
    this.schedule(options.intervalMs);
  }

  readonly stop = (): void => {
    if (--this.holders > 0) return;
    this.stopListening();
    this.cancelTimer();
    this.failingSince = undefined;
  };

  /** The namespace was opened again, perhaps by the person whose it is. */
  opened(): void {
    if (this.isConflict) this.schedule(0);
  }

  /** Something was recorded, and so many wait now that were never delivered. */
  recorded(undelivered: number): void {
    if (!this.isRunning && this.failures === 0 && undelivered >= MANY) this.schedule(0);
  }

  /** Delivers what waits at once, whatever the backoff, until nothing is left or a batch fails. */
  async flush(): Promise<void> {
    await Promise.all([this.running, this.leaving]);
    if (this.isOn) await this.run("flush");
  }

  /**
   * Delivers what this page recorded in requests that may outlive it, whatever the backoff. Resolves when none is under
   * way any more.
   */
  leave(): Promise<unknown> {
    const last: Promise<boolean>[] = [];
    try {
      for (const batch of this.underWay) {
        if (batch.isLast) continue;
        this.end(batch, false);
        batch.giveUp(new Error("the page hides"));
      }
      for (let batch; this.isOn && this.askedMs === 0 && (batch = this.beginLast());)
        last.push(this.deliver(batch, "hide"));
    } catch (cause) {
      this.failed(cause);
    }
    this.leaving = Promise.all([this.leaving, ...last]).then(() => this.schedule(this.delayMs));
    return this.leaving;
  }

  /** What is left of the wait that the server has asked for. A clock that has jumped back says nothing of it. */
  private get askedMs(): number {
    const ms = this.askedUntilMs - this.clock.wallMs();
    return ms > 0 && ms < 2 * LONGEST_ASKED_MS ? ms : 0;
  }

  private get delayMs(): number {
    return this.failures > 0 ? this.retryMs : this.options.intervalMs;
  }

  private schedule(delayMs: number): void {
    this.cancelTimer();
    const run = () => void this.run("interval");
    if (this.isOn) this.cancelTimer = this.clock.after(Math.max(delayMs, this.askedMs), run);
  }

  private run(reason: Reason): Promise<void> {
    if (this.askedMs > 0) this.schedule(0);
    else if (!this.isRunning) {
      this.isRunning = true;
      this.running = this.deliverAll(reason);
    }
    return this.running;
  }

  /**
   * Delivers batch after batch until nothing is left or one fails, and again after a while. It waits for nothing where
   * there is nothing to deliver: a test's clock runs through many intervals in one task.
   */
  private async deliverAll(reason: Reason): Promise<void> {
    try {
      const sinceMs = Math.abs(this.clock.wallMs() - this.triedMs);
      const mayTry = reason === "flush" || !isOffline() || sinceMs >= OFFLINE_MS;
      const looking = this.deliveries.lookBefore();
      if (looking) await looking;
      let batch = mayTry ? this.next() : undefined;
      while (batch && (await this.deliver(batch, reason))) {
        // A transport that answers at once must not keep the page from everything else.
        await pause();
        batch = this.next();
      }
    } catch (cause) {
      this.failed(cause);
    }
    this.isRunning = false;
    this.schedule(this.delayMs);
  }

  private next(): Batch | undefined {
    // What went out as the page hid comes first.
    if (!this.isOn || this.askedMs > 0 || this.underWay.size > 0) return undefined;
    const batch = this.begin(this.most, MAX_BYTES, false);
    if (!batch) this.releaseSuspects();
    return batch;
  }

  private begin(most: number, maxBytes: number, isLast: boolean): Batch | undefined {
    const { batch: number, impressions, unseen } = this.deliveries.beginBatch(most, maxBytes, isLast);
    const count = impressions.length + unseen.length;
    if (number === 0) return undefined;
    return { number, impressions, unseen, count, clear: this.deliveries.number, isLast, bytes: 0, giveUp: () => {} };
  }

  /** What fits into the room for requests that outlive the page. What does not fit alone is skipped. */
  private beginLast(): Batch | undefined {
    const room = MAX_LAST_BYTES - lastBytes;
    const idsRoom = room - bytesOf(this.reportOf({ impressions: [], unseen: [] }));
    const skipped: Batch[] = [];
    let batch = idsRoom < MIN_LAST_BYTES ? undefined : this.begin(this.most, idsRoom, true);
    // An id's JSON may be longer than the id.
    while (batch && (batch.bytes = bytesOf(this.reportOf(batch))) > room) {
      const { count } = batch;
      if (count === 1) skipped.push(batch);
      else this.end(batch, false);
      batch = this.begin(count === 1 ? this.most : count >> 1, idsRoom, true);
    }
    for (const each of skipped) this.end(each, false);
    return batch;
  }

  private end(batch: Batch, arrived: boolean): void {
    this.underWay.delete(batch);
    this.deliveries.endBatch(batch.number, arrived);
  }

  private releaseSuspects(): void {
    for (const number of this.suspects.splice(0)) this.deliveries.endBatch(number, false);
  }

  private reportOf({ impressions, unseen }: Pick<Batch, "impressions" | "unseen">): Report {
    return {
      namespace: this.deliveries.options.namespace,
      now: this.clock.wallMs(),
      impressions,
      ...(unseen.length > 0 ? { unseen } : {}),
      pending: this.deliveries.pendingList(),
    };
  }

  /** Delivers a batch. Whether it arrived. Never rejects, and ends in time. */
  private async deliver(batch: Batch, reason: Reason): Promise<boolean> {
    const controller = new AbortController();
    const isOver = new Promise<never>((_, reject) => {
      batch.giveUp = (cause) => {
        controller.abort(cause);
        reject(cause);
      };
    });
    const noAnswer = new Error(`${this.address} has not answered within ${REQUEST_MS / 1000} s`);
    const cancel = deviceClock.after(REQUEST_MS, () => batch.giveUp(noAnswer));
    this.underWay.add(batch);
    this.triedMs = this.clock.wallMs();
    lastBytes += batch.bytes;
    let arrived = false;
    try {
      arrived = await Promise.race([isOver, this.request(batch, reason, controller.signal)]);
      if (arrived) this.succeeded(batch);
    } catch (cause) {
      // The app's own requests may have taken the room of those that outlive a page, which is a TypeError.
      const hasNoRoom = batch.isLast && isA(TypeError, cause);
      if (this.underWay.has(batch) && !hasNoRoom) this.failed(cause, batch);
    }
    cancel();
    lastBytes -= batch.bytes;
    if (this.underWay.has(batch)) this.end(batch, arrived);
    return arrived;
  }

  /** Up to where the request is made this waits for nothing but the app's headers: the page may be gone by then. */
  private async request(batch: Batch, reason: Reason, signal: AbortSignal): Promise<boolean> {
    const { url = "", send, headers, credentials, fetch = globalThis.fetch } = this.options;
    const asked = typeof headers === "function" && !send ? await inTime(HEADERS_MS, "`headers`", headers()) : headers;
    // The app may have stopped this meanwhile because another person signs in, or the namespace was cleared.
    if ((!this.isOn && !batch.isLast) || this.deliveries.number !== batch.clear) return false;
    const report = this.reportOf(batch);
    let answering: Promise<unknown>;
    if (send) answering = send(report, reason, signal);
    else {
      const all = new Headers({ "content-type": "application/json" });
      new Headers(asked as HeadersInit).forEach((value, name) => all.set(name, value));
      const body = JSON.stringify(report);
      const how = { credentials, redirect: "manual", keepalive: batch.isLast } as const;
      answering = fetch(url, { method: "POST", headers: all, body, signal, ...how });
    }
    // While delivery fails this one probably fails, too, and is due on the next visit.
    if (batch.isLast && this.failures === 0) this.deliveries.leaveBatch(batch.number);
    checkReceipt(await answering, send ? undefined : url);
    return this.underWay.has(batch);
  }

  private succeeded({ count }: Batch): void {
    this.delivered += count;
    [this.failures, this.failingSince, this.isConflict, this.askedUntilMs] = [0, undefined, false, 0];
    this.most = Math.min(2 * this.most, MAX_BATCH);
    this.hasAccepted = true;
    this.releaseSuspects();
  }

  private failed(cause: unknown, batch?: Batch): void {
    const { status, askedMs } = isA(Refusal, cause) ? cause : { status: 0, askedMs: 0 };
    const isConflict = status === 409;
    const isNews = this.failures === 0 || (isConflict && !this.isConflict);
    this.isConflict = isConflict;
    this.retryMs = isConflict ? CONFLICT_MS : retryDelayMs(this.failures, LAST_RETRY_MS);
    this.failures++;
    const nowMs = this.clock.wallMs();
    this.failingSince ??= nowMs;
    // Not earlier than asked, and not all devices at once.
    this.askedUntilMs = nowMs + askedMs * (1 + Math.random() / 4);
    if (batch && (status === 400 || status === 413)) {
      this.most = Math.ceil(batch.count / 2);
      if (batch.count === 1) {
        this.underWay.delete(batch);
        if (this.hasAccepted) {
          this.setAside(batch, cause);
          return;
        }
        this.suspects.push(batch.number);
      }
    }
    // Once for a row of failures.
    if (!isNews) return;
    const message = isConflict
      ? `the session is not that of the namespace "${this.deliveries.options.namespace}": its impressions are kept, ` +
        "and tried again in 15 minutes at the soonest"
      : `impressions could not be delivered to ${this.address} and are tried again`;
    this.deliveries.report(failure("delivery", message, cause));
  }

  /** It is refused though others are accepted: its batch does not end on this visit. */
  private setAside({ impressions, unseen }: Batch, cause: unknown): void {
    this.failingSince = undefined;
    const [entry] = [...impressions, ...unseen];
    const message = `${this.address} refuses ${JSON.stringify(entry?.id)}, which is left out until the next visit`;
    this.deliveries.report(failure("delivery", message, cause));
  }
}

/** Some proxies do not tell what they are. */
function isA<T>(kind: abstract new (...given: never[]) => T, cause: unknown): cause is T {
  return attempt(() => cause instanceof kind) ?? false;
}

const bytesOf = (report: Report): number => new TextEncoder().encode(JSON.stringify(report)).length;

/** Throws for an answer that says that the report has not arrived. `asked`: of a request that was made here. */
function checkReceipt(answer: unknown, asked: string | undefined): void {
  const response = (answer ?? {}) as Partial<Response>;
  const { status, headers } = response;
  // The page of a sign-in is no receipt.
  if (asked !== undefined && isRedirected(response, asked)) throw new Error("the server redirects");
  if (typeof status !== "number" || (status >= 200 && status < 300)) return;
  const retryAfter = attempt(() => new Headers(headers).get("retry-after")) ?? "";
  throw new Refusal(status, retryAfterMs(retryAfter));
}

/** A native bridge in place of `fetch` follows redirects whatever it is asked: then the address tells, if it is known. */
function isRedirected({ redirected, type, url }: Partial<Response>, asked: string): boolean {
  const { document, location } = globalThis as Partial<typeof globalThis>;
  const pathOf = (address: string) => attempt(() => new URL(address, document?.baseURI ?? location?.href).pathname);
  const path = pathOf(asked);
  return redirected === true || type === "opaqueredirect" || (!!url && path !== undefined && pathOf(url) !== path);
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
