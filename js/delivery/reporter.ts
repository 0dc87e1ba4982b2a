/**
 * Delivery of impressions and unseen ids to the server: at least once each, in batches, without request storms.
 *
 * The engine decides what to deliver and what to repeat; the reporter decides when: one request at a time, at an
 * interval or as soon as many impressions wait; after a failure with exponential backoff and jitter. A refused batch is
 * halved until the refused entry is alone. As the page hides, the impressions of this page are sent in requests that
 * outlive it.
 */
import { attempt, deviceClock, isHidden, listen, pause, retryDelayMs, type Clock } from "../platform/host.js";
import type { Batch as BegunBatch } from "../engine/engine-types.js";
import { failure, errorNameOf, type ErrorListener } from "../errors.js";
import { TextEncoder } from "../platform/text-encoding.js";
import type { Report } from "../types/seenguard.js";
import { addressOf, deliver, LONGEST_ASKED_MS, Refusal, type CheckedReportOptions, type Reason } from "./request.js";

/** The source of impressions. */
interface Deliveries {
  readonly options: { readonly namespace: string };
  /** Begins a batch. Its entries are in no other batch until it ends. As the page hides: only entries of this page. */
  beginBatch(maxImpressions: number, maxBytes: number, reason: Reason): BegunBatch | undefined;
  /** "Left": it is sent as the page hides, and counts as delivered unless it ends otherwise. */
  endBatch(batch: number, end: "Failed" | "Delivered" | "Left"): void;
  /** The value of `Seen-Pending`. */
  pendingList(): string;
  /** That of the latest clear. */
  readonly generation: number;
  /** Checks for clears where there is no cross-tab signal. */
  loadBefore(): Promise<unknown> | undefined;
  readonly report: ErrorListener;
}

interface Batch extends BegunBatch {
  readonly count: number;
  /** The generation when the batch began. */
  readonly generation: number;
  /** Whether it is sent as the page hides, and the length of its body then. */
  readonly isLast: boolean;
  bytes: number;
  /** Stops waiting for the response. */
  giveUp: (cause: Error) => void;
}

const MAX_BATCH = 100;
/** The approximate most bytes of ids in a batch. */
const MAX_BYTES = 40_000;
/** With this many waiting, a batch is sent before the interval ends. */
const MANY = 50;
/** The most bytes of all keepalive requests of a document (browsers allow 64 KB), and the least for another one. */
const MAX_LAST_BYTES = 60_000;
const MIN_LAST_BYTES = 1_000;
/** Timeout of a request, including the app's headers. */
const REQUEST_MS = 30_000;
/** The longest backoff, and the backoff after a 409: the session is another user's. */
const LAST_RETRY_MS = 300_000;
const CONFLICT_MS = 900_000;
/** Interval of attempts while the browser reports that it is offline, which may be wrong. */
const OFFLINE_MS = 60_000;

/** The bytes of the keepalive requests in progress, of all guards of this document. */
let lastBytes = 0;

/** The batch was abandoned before it was sent, which is no failure. */
const GIVEN_UP = new Error("given up");

export class Reporter {
  readonly address: string;
  /** How many impressions and unseen ids have arrived. */
  delivered = 0;
  /** The time of the first failure in a row, Unix ms. */
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
  /** The batches in progress: more than one only as the page hides. */
  private readonly underWay = new Set<Batch>();
  private triedMs = -Infinity;
  private failures = 0;
  private retryMs = 0;
  private askedUntilMs = 0;
  /** Whether the latest response was a 409: the session is another user's. */
  private isConflict = false;
  /** The most entries of the next batch. */
  private most = MAX_BATCH;
  /** Refused batches of one entry, while none was accepted yet: retried when one is. */
  private readonly suspects: number[] = [];

  constructor(deliveries: Deliveries, options: CheckedReportOptions, clock: Clock) {
    [this.deliveries, this.options, this.clock] = [deliveries, options, clock];
    this.address = addressOf(options);
  }

  get isOn(): boolean {
    return this.holders > 0;
  }

  /** The number of entries in progress or held back here. */
  get waiting(): number {
    return [...this.underWay].reduce((sum, { count }) => sum + count, this.suspects.length);
  }

  /** Runs with the latest options until `stop` is called once for each `start`. */
  start(options: CheckedReportOptions): void {
    this.options = options;
    if (this.holders++ > 0) return;
    this.stopListening = listen(["pagehide", "pageshow", "visibilitychange", "online"], ({ type }) => {
      if (type === "online") {
        // A network that is back resolves no conflict of sessions.
        if (!this.isConflict) this.schedule(0);
      } else if (type === "pagehide" || isHidden()) void this.leave();
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

  /** The namespace was opened again: a conflict of sessions may be over. */
  opened(): void {
    if (this.isConflict) this.schedule(0);
  }

  /** Notes new impressions. `undelivered`: how many were never delivered. */
  recorded(undelivered: number): void {
    if (!this.isRunning && this.failures === 0 && undelivered >= MANY) this.schedule(0);
  }

  /** Delivers at once, regardless of the backoff, until nothing is left or a batch fails. */
  async flush(): Promise<void> {
    await Promise.all([this.running, this.leaving]);
    if (this.isOn) await this.run("flush");
  }

  /** Delivers this page's entries, regardless of the backoff. Resolves when no batch is in progress. */
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

  /** The rest of the wait that `Retry-After` demands; 0 if the clock has jumped back far. */
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
   * Delivers batch after batch until nothing is left or one fails, and schedules the next run. With nothing to deliver
   * it awaits nothing: a test's clock passes many intervals in one task.
   */
  private async deliverAll(reason: Reason): Promise<void> {
    try {
      const loading = this.deliveries.loadBefore();
      if (loading) await loading;
      const sinceMs = Math.abs(this.clock.wallMs() - this.triedMs);
      let batch = reason === "flush" || !isOffline() || sinceMs >= OFFLINE_MS ? this.next(reason) : undefined;
      while (batch && (await this.deliver(batch, reason))) {
        // Yield to other tasks: a custom transport may answer synchronously.
        await pause();
        batch = this.next(reason);
      }
    } catch (cause) {
      this.failed(cause);
    }
    this.isRunning = false;
    this.schedule(this.delayMs);
  }

  private next(reason: Reason): Batch | undefined {
    // Batches that were sent as the page hid must end first.
    if (!this.isOn || this.askedMs > 0 || this.underWay.size > 0) return undefined;
    const batch = this.begin(this.most, MAX_BYTES, reason);
    if (!batch) this.releaseSuspects();
    return batch;
  }

  private begin(most: number, maxBytes: number, reason: Reason): Batch | undefined {
    // Reading it learns of a clear, after which the batch has nothing that was cleared.
    const { generation } = this.deliveries;
    const begun = this.deliveries.beginBatch(most, maxBytes, reason);
    if (!begun) return undefined;
    const count = begun.impressions.length + begun.unseen.length;
    return { ...begun, count, generation, isLast: reason === "hide", bytes: 0, giveUp: () => {} };
  }

  /** A batch that fits into the remaining keepalive bytes. Skips an entry that does not fit alone. */
  private beginLast(): Batch | undefined {
    const room = MAX_LAST_BYTES - lastBytes;
    const idsRoom = room - bytesOf(this.reportOf({ impressions: [], unseen: [] }));
    const skipped: Batch[] = [];
    let batch = idsRoom < MIN_LAST_BYTES ? undefined : this.begin(this.most, idsRoom, "hide");
    // Escapes can make an id's JSON longer than the id.
    while (batch && (batch.bytes = bytesOf(this.reportOf(batch))) > room) {
      const isAlone = batch.count === 1;
      if (isAlone) skipped.push(batch);
      else this.end(batch, false);
      batch = this.begin(isAlone ? this.most : batch.count >> 1, idsRoom, "hide");
    }
    for (const each of skipped) this.end(each, false);
    return batch;
  }

  private end(batch: Batch, arrived: boolean): void {
    this.underWay.delete(batch);
    this.deliveries.endBatch(batch.batch, arrived ? "Delivered" : "Failed");
  }

  private releaseSuspects(): void {
    for (const batch of this.suspects.splice(0)) this.deliveries.endBatch(batch, "Failed");
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

  /** Delivers a batch. Resolves, within the timeout, to whether it arrived. Never rejects. */
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
      // A TypeError of a keepalive request may mean that the app's own ones have used up the 64 KB.
      const isNoFailure = cause === GIVEN_UP || (batch.isLast && errorNameOf(cause) === "TypeError");
      if (!isNoFailure) this.failed(cause, batch);
    }
    cancel();
    lastBytes -= batch.bytes;
    if (this.underWay.has(batch)) this.end(batch, arrived);
    return arrived;
  }

  /** The report of a batch, made when the headers are ready. */
  private reportNow(batch: Batch): Report {
    // Meanwhile the app may have stopped it, because another user signs in, or the namespace was cleared.
    if ((!this.isOn && !batch.isLast) || this.deliveries.generation !== batch.generation) throw GIVEN_UP;
    // While delivery fails, this batch probably fails, too: it stays due on the next visit.
    if (batch.isLast && this.failures === 0) this.deliveries.endBatch(batch.batch, "Left");
    return this.reportOf(batch);
  }

  private succeeded({ count }: Batch): void {
    this.delivered += count;
    [this.failures, this.failingSince, this.isConflict, this.askedUntilMs] = [0, undefined, false, 0];
    this.most = Math.min(2 * this.most, MAX_BATCH);
    this.releaseSuspects();
  }

  private failed(cause: unknown, batch?: Batch): void {
    // `instanceof` throws for some proxies.
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
    // Jitter, so that the devices do not retry at the same time; never earlier than demanded.
    this.askedUntilMs = nowMs + askedMs * (1 + Math.random() / 4);
    if (batch && (status === 400 || status === 413)) {
      this.most = Math.ceil(batch.count / 2);
      if (batch.count === 1) {
        // The batch stays open, so that its entry is in no other one on this visit, or until a batch is accepted.
        this.underWay.delete(batch);
        if (this.delivered === 0) this.suspects.push(batch.batch);
        else {
          const [entry] = [...batch.impressions, ...batch.unseen];
          message = `${this.address} refuses ${JSON.stringify(entry?.id)}, which is left out until the next visit`;
          [isNews, this.failingSince] = [true, undefined];
        }
      }
    }
    // Report the first failure in a row only.
    if (isNews) this.deliveries.report(failure("delivery", message, cause));
  }
}

const bytesOf = (report: Report): number => new TextEncoder().encode(JSON.stringify(report)).length;

/** Some navigators, such as Node's, have no `onLine`. */
function isOffline(): boolean {
  return (globalThis.navigator as Navigator | undefined)?.onLine === false;
}
