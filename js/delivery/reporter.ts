/**
 * Delivery of impressions, and of what is unseen, to the server: at least once each, in batches, without storms.
 *
 * The engine decides what to deliver, and what again; here is when: one request at a time, at an interval or as soon as
 * many wait; after a failure with exponential backoff and jitter. A batch that is refused is halved until the one entry
 * that is refused is alone. As the page hides, what it recorded goes out in requests that outlive it.
 */
import { attempt, deviceClock, isHidden, listen, pause, retryDelayMs, type Clock } from "../platform/host.js";
import type { Batch as BegunBatch } from "../engine/engine-types.js";
import { failure, errorNameOf, type ErrorListener } from "../errors.js";
import { TextEncoder } from "../platform/text-encoding.js";
import type { Report } from "../types/seenguard.js";
import { addressOf, deliver, LONGEST_ASKED_MS, Refusal, type CheckedReportOptions, type Reason } from "./request.js";

/** Where impressions come from. */
interface Deliveries {
  readonly options: { readonly namespace: string };
  /** Takes a batch, which is in no other one until it ends. `isLast`: of what this page recorded. */
  beginBatch(maxImpressions: number, maxBytes: number, isLast: boolean): BegunBatch | undefined;
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

interface Batch extends BegunBatch {
  readonly count: number;
  /** The number of the latest clear when it was begun. */
  readonly clear: number;
  /** Whether it goes out as the page hides, and how long its body is then. */
  readonly isLast: boolean;
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
/** How long a request may take, its headers included. */
const REQUEST_MS = 30_000;
/** The longest backoff, and that where the session is another person's. */
const LAST_RETRY_MS = 300_000;
const CONFLICT_MS = 900_000;
/** Between two tries while the browser says that it is offline, which is not always true. */
const OFFLINE_MS = 60_000;

/** Of the requests of all guards of this document that may outlive it. */
let lastBytes = 0;

/** It was given up before it went out, which is no failure. */
const GIVEN_UP = new Error("given up");

export class Reporter {
  readonly address: string;
  /** How many impressions and takings back have arrived. */
  delivered = 0;
  /** Since when delivery has been failing, Unix ms. */
  failingSince: number | undefined;
  private readonly deliveries: Deliveries;
  private readonly clock: Clock;
  private options: CheckedReportOptions;
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
  private askedUntilMs = 0;
  /** Whether the latest answer said that the session is another person's. */
  private isConflict = false;
  /** How many entries the next batch has at most. */
  private most = MAX_BATCH;
  /** Batches of one entry that were refused before any was accepted: they wait until one is. */
  private readonly suspects: number[] = [];

  constructor(deliveries: Deliveries, options: CheckedReportOptions, clock: Clock) {
    [this.deliveries, this.options, this.clock] = [deliveries, options, clock];
    this.address = addressOf(options);
  }

  get isOn(): boolean {
    return this.holders > 0;
  }

  /** How many are under way or wait here. */
  get waiting(): number {
    return [...this.underWay].reduce((sum, { count }) => sum + count, this.suspects.length);
  }

  /** Runs with the latest options until `stop` was called as often. */
  start(options: CheckedReportOptions): void {
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

  /** Delivers what this page recorded, whatever the backoff. Resolves when none of it is under way any more. */
  leave(): Promise<unknown> {
    const last: Promise<boolean>[] = [];
    try {
      for (const batch of this.underWay) {
        if (batch.isLast) continue;
        this.end(batch, false);
        batch.giveUp(GIVEN_UP);
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
      const looking = this.deliveries.lookBefore();
      if (looking) await looking;
      const sinceMs = Math.abs(this.clock.wallMs() - this.triedMs);
      let batch = reason === "flush" || !isOffline() || sinceMs >= OFFLINE_MS ? this.next() : undefined;
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
    const begun = this.deliveries.beginBatch(most, maxBytes, isLast);
    if (!begun) return undefined;
    const count = begun.impressions.length + begun.unseen.length;
    return { ...begun, count, clear: this.deliveries.number, isLast, bytes: 0, giveUp: () => {} };
  }

  /** What fits into the room for requests that outlive the page. What does not fit alone is skipped. */
  private beginLast(): Batch | undefined {
    const room = MAX_LAST_BYTES - lastBytes;
    const idsRoom = room - bytesOf(this.reportOf({ impressions: [], unseen: [] }));
    const skipped: Batch[] = [];
    let batch = idsRoom < MIN_LAST_BYTES ? undefined : this.begin(this.most, idsRoom, true);
    // An id's JSON may be longer than the id.
    while (batch && (batch.bytes = bytesOf(this.reportOf(batch))) > room) {
      const isAlone = batch.count === 1;
      if (isAlone) skipped.push(batch);
      else this.end(batch, false);
      batch = this.begin(isAlone ? this.most : batch.count >> 1, idsRoom, true);
    }
    for (const each of skipped) this.end(each, false);
    return batch;
  }

  private end(batch: Batch, arrived: boolean): void {
    this.underWay.delete(batch);
    this.deliveries.endBatch(batch.batch, arrived);
  }

  private releaseSuspects(): void {
    for (const batch of this.suspects.splice(0)) this.deliveries.endBatch(batch, false);
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
      await Promise.race([isOver, deliver(this.options, () => this.reportNow(batch), reason, controller.signal)]);
      arrived = true;
      this.succeeded(batch);
    } catch (cause) {
      // The app's own requests may have taken the room of those that outlive a page, which is a TypeError.
      const isNoFailure = cause === GIVEN_UP || (batch.isLast && errorNameOf(cause) === "TypeError");
      if (!isNoFailure) this.failed(cause, batch);
    }
    cancel();
    lastBytes -= batch.bytes;
    if (this.underWay.has(batch)) this.end(batch, arrived);
    return arrived;
  }

  /** What goes out, once its headers have come. */
  private reportNow(batch: Batch): Report {
    // The app may have stopped this meanwhile because another person signs in, or the namespace was cleared.
    if ((!this.isOn && !batch.isLast) || this.deliveries.number !== batch.clear) throw GIVEN_UP;
    // While delivery fails this one probably fails, too, and is due on the next visit.
    if (batch.isLast && this.failures === 0) this.deliveries.leaveBatch(batch.batch);
    return this.reportOf(batch);
  }

  private succeeded({ count }: Batch): void {
    this.delivered += count;
    [this.failures, this.failingSince, this.isConflict, this.askedUntilMs] = [0, undefined, false, 0];
    this.most = Math.min(2 * this.most, MAX_BATCH);
    this.releaseSuspects();
  }

  private failed(cause: unknown, batch?: Batch): void {
    // Some proxies do not tell what they are.
    const { status = 0, askedMs = 0 } = attempt(() => (cause instanceof Refusal ? cause : undefined)) ?? {};
    const { namespace } = this.deliveries.options;
    const isConflict = status === 409;
    let isNews = this.failures === 0 || (isConflict && !this.isConflict);
    let message = isConflict
      ? `the session is not that of the namespace "${namespace}": its impressions are kept and tried again later`
      : `impressions could not be delivered to ${this.address} and are tried again`;
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
        // Its batch does not end on this visit, or not yet.
        this.underWay.delete(batch);
        if (this.delivered === 0) this.suspects.push(batch.batch);
        else {
          const [entry] = [...batch.impressions, ...batch.unseen];
          message = `${this.address} refuses ${JSON.stringify(entry?.id)}, which is left out until the next visit`;
          [isNews, this.failingSince] = [true, undefined];
        }
      }
    }
    // Once for a row of failures.
    if (isNews) this.deliveries.report(failure("delivery", message, cause));
  }
}

const bytesOf = (report: Report): number => new TextEncoder().encode(JSON.stringify(report)).length;

/** Not every navigator tells: Node's does not. */
function isOffline(): boolean {
  return (globalThis.navigator as Navigator | undefined)?.onLine === false;
}
