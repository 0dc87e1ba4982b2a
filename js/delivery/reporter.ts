/**
 * Delivers impressions and unseen ids to the server, at least once each.
 *
 * The engine selects the entries of a batch, also for another attempt; the reporter decides when to send one. There is
 * one request at a time: soon after the latest impression, or at once when many are undelivered; later after a failure.
 * As the page hides, a request that outlives it delivers the newest impressions of this page.
 */
import { failure, errorNameOf, type ErrorListener } from "../errors.js";
import { attempt, isHidden, listen, pause, withTimeout, type Clock } from "../platform/host.js";
import { createEncoder } from "../platform/text-encoding.js";
import type { Report } from "../types/seenguard.js";
import { Backoff } from "./backoff.js";
import { BatchSize, countOf, type Batch } from "./batches.js";
import { addressOf, DeliveryRequest, Refusal, type CheckedReportOptions, type Reason } from "./request.js";

/** The source of impressions. */
interface Source {
  readonly options: { readonly namespace: string };
  /** How many impressions and unseen ids were never delivered and are in no batch. */
  readonly undelivered: number;
  /** The next batch; as the page hides, the newest entries of this page. */
  beginBatch(maxEntries: number, maxBytes: number, reason: Reason): Batch | undefined;
  /** The value of `Seen-Pending`. */
  pendingList(): string;
  /** Checks for clears where there is no cross-tab signal. */
  loadBefore(): Promise<unknown> | undefined;
  readonly report: ErrorListener;
}

/** The approximate most bytes of ids in a batch. */
const MAX_BYTES = 40_000;
/** With this many undelivered entries a request is sent at once. */
const MANY = 50;
/**
 * A request is sent this share of `intervalMs` after the latest impression, and `intervalMs` after the first at most.
 */
const QUIET_SHARE = 1 / 5;
/** The most bytes of all keepalive requests of a document (browsers allow 64 KB), and the least for another one. */
const MAX_KEEPALIVE_BYTES = 60_000;
const MIN_KEEPALIVE_BYTES = 1_000;
/** Interval of attempts while the browser reports that it is offline, which may be wrong. */
const OFFLINE_MS = 60_000;

/** The bytes of the keepalive requests in progress, of all guards of this document. */
let keepaliveBytes = 0;

/** The reason of a request that this document aborts, which does not count as a failure. */
const DROPPED = new Error("dropped");

export class Reporter {
  readonly address: string;
  /** How many impressions and unseen ids the server has acknowledged. */
  delivered = 0;
  private readonly backoff: Backoff;
  private readonly size = new BatchSize();
  /** The options of each `start` that was not stopped. */
  private readonly started = new Set<CheckedReportOptions>();
  private stopListening = (): void => {};
  private cancelTimer = (): void => {};
  /** More than one only as the page hides. */
  private readonly requests = new Set<DeliveryRequest>();
  private isRunning = false;
  private running = Promise.resolve();
  private hiding: Promise<unknown> = Promise.resolve();
  /** Whether a request was sent as the page hid, until it is shown: a page that closes has two events. */
  private hasLeft = false;
  /** How many calls of `deliver` are in progress. */
  private calls = 0;
  /** When the first and the latest entry were recorded since a batch was begun, Unix ms. */
  private firstMs: number | undefined;
  private latestMs = 0;
  private triedMs = -Infinity;
  /** How many undelivered entries the latest run has left: they are of earlier visits and not due yet. */
  private notDue = 0;

  constructor(
    private readonly source: Source,
    options: CheckedReportOptions,
    private readonly clock: Clock,
  ) {
    this.address = addressOf(options);
    this.backoff = new Backoff(clock);
  }

  get isOn(): boolean {
    return this.started.size > 0;
  }

  /** The number of entries in progress or left out here. */
  get waiting(): number {
    const batches = [...this.requests].map(({ batch }) => batch).filter(({ exists }) => exists());
    return batches.reduce((sum, batch) => sum + countOf(batch), this.size.leftOut);
  }

  get failingSince(): number | undefined {
    return this.backoff.failingSince;
  }

  /** Delivers with these options until `stop`, which is returned; after that with the options of another `start`. */
  start(options: CheckedReportOptions): () => void {
    const isFirst = !this.isOn;
    this.started.add(options);
    if (isFirst) {
      this.hasLeft = false;
      this.notDue = this.source.undelivered;
      this.stopListening = listen(["pagehide", "pageshow", "visibilitychange", "online"], this.handle);
      this.schedule(this.backoff.isFailing ? this.backoff.retryMs : this.quietMs);
    }
    return () => this.stop(options);
  }

  private stop(options: CheckedReportOptions): void {
    this.started.delete(options);
    this.drop((request) => request.options === options && !request.isSent);
    if (this.isOn) return;
    this.stopListening();
    this.cancelTimer();
    this.backoff.failingSince = undefined;
  }

  /** Ends all requests: the namespace closes. */
  end(): void {
    this.drop(() => true);
  }

  private readonly handle = ({ type }: Event): void => {
    if (type === "online") {
      // The network does not resolve a conflict of sessions.
      if (!this.backoff.isConflict) this.schedule(0);
    } else if (type === "pagehide" || isHidden()) this.hide();
    else {
      this.hasLeft = false;
      if (this.backoff.isFailing) this.schedule(0);
    }
  };

  /** The namespace was opened again: a conflict of sessions may be over. */
  opened(): void {
    if (this.backoff.isConflict) this.schedule(0);
  }

  /** Notes new entries. */
  recorded(): void {
    this.latestMs = this.clock.wallMs();
    this.firstMs ??= this.latestMs;
    if (!this.isRunning && !this.backoff.isFailing) this.schedule(this.dueMs);
  }

  /**
   * Delivers at once, regardless of the backoff, until nothing is left or a request fails, for this time at most. A
   * request that is not sent by then is not sent later.
   */
  async deliver(timeoutMs: number): Promise<void> {
    this.calls++;
    const running = Promise.all([this.running, this.hiding]);
    await withTimeout(
      timeoutMs,
      running.then(() => (this.isOn && this.calls > 0 ? this.run("deliver") : undefined)),
    );
    this.calls--;
    if (this.calls === 0) this.drop(({ reason, isSent }) => reason === "deliver" && !isSent);
  }

  // Scheduling.

  private get options(): CheckedReportOptions | undefined {
    return [...this.started].pop();
  }

  private get intervalMs(): number {
    return this.options?.intervalMs ?? Infinity;
  }

  private get quietMs(): number {
    return this.intervalMs * QUIET_SHARE;
  }

  /** The delay until new entries are due; 0 if there are none since the latest batch. */
  private get dueMs(): number {
    if (this.firstMs === undefined || this.source.undelivered - this.notDue >= MANY) return 0;
    const atMs = Math.min(this.latestMs + this.quietMs, this.firstMs + this.intervalMs);
    // The clock may have jumped.
    return Math.max(0, Math.min(atMs - this.clock.wallMs(), this.quietMs));
  }

  /** The delay until the next run: without new entries, those of earlier visits may become due. */
  private get delayMs(): number {
    if (this.backoff.isFailing) return this.backoff.retryMs;
    return this.firstMs === undefined ? this.intervalMs : this.dueMs;
  }

  private schedule(delayMs: number): void {
    this.cancelTimer();
    const run = () => void this.run("interval");
    if (this.isOn) this.cancelTimer = this.clock.after(Math.max(delayMs, this.backoff.requestedMs), run);
  }

  private run(reason: Reason): Promise<void> {
    if (this.backoff.requestedMs > 0) this.schedule(0);
    else if (!this.isRunning) {
      this.isRunning = true;
      this.running = this.deliverAll(reason);
    }
    return this.running;
  }

  /**
   * Delivers batch after batch until nothing more is due or one fails, and schedules the next run. With nothing to
   * deliver it awaits nothing: a test's clock passes many intervals in one task.
   */
  private async deliverAll(reason: Reason): Promise<void> {
    try {
      const loading = this.source.loadBefore();
      if (loading) await loading;
      for (let batch = this.next(reason); batch; batch = this.next(reason)) {
        if (!(await this.send(batch, reason)) || !this.isMoreDue(reason)) break;
        // Yield to other tasks: a custom transport may respond synchronously.
        await pause();
      }
    } catch (cause) {
      this.fail(cause);
    }
    this.isRunning = false;
    this.schedule(this.delayMs);
  }

  private isMoreDue(reason: Reason): boolean {
    return this.source.undelivered > 0 && (reason === "deliver" || this.dueMs === 0);
  }

  private next(reason: Reason): Batch | undefined {
    this.firstMs = undefined;
    // A request that was sent as the page hid must end first.
    const mayBegin = this.isOn && this.backoff.requestedMs === 0 && this.requests.size === 0;
    if (!mayBegin || (reason === "deliver" ? this.calls === 0 : this.isOffline())) return undefined;
    const batch = this.source.beginBatch(this.size.most, MAX_BYTES, reason);
    if (batch) return batch;
    this.size.finished();
    this.notDue = this.source.undelivered;
    return undefined;
  }

  private isOffline(): boolean {
    return !mayBeOnline() && Math.abs(this.clock.wallMs() - this.triedMs) < OFFLINE_MS;
  }

  // Requests.

  /** Sends a batch. Resolves to whether the server may accept more at once. Never rejects. */
  private async send(batch: Batch, reason: Reason, bytes = 0): Promise<boolean> {
    const { options } = this;
    if (!options) return false;
    const request = new DeliveryRequest(batch, reason, options);
    this.requests.add(request);
    this.triedMs = this.clock.wallMs();
    keepaliveBytes += bytes;
    try {
      await request.run(() => this.reportNow(request));
      this.acknowledged(batch);
      return true;
    } catch (cause) {
      return this.requests.has(request) && this.failed(cause, request);
    } finally {
      keepaliveBytes -= bytes;
      this.requests.delete(request);
    }
  }

  private reportNow(request: DeliveryRequest): Report {
    const { batch, reason, options } = request;
    if (!batch.isCurrent()) this.drop((each) => each === request);
    if (!this.requests.has(request)) throw DROPPED;
    if (reason === "hide" && this.countsAsDelivered(options)) batch.end("Left");
    return this.reportOf(batch);
  }

  private reportOf({ impressions, unseen }: Pick<Batch, "impressions" | "unseen">): Report {
    return {
      namespace: this.source.options.namespace,
      now: this.clock.wallMs(),
      impressions,
      ...(unseen.length > 0 ? { unseen } : {}),
      pending: this.source.pendingList(),
    };
  }

  private acknowledged(batch: Batch): void {
    batch.end("Delivered");
    this.delivered += countOf(batch);
    this.backoff.succeeded();
    this.size.accepted();
  }

  /** Ends a request that has failed. Returns whether the server may accept another one at once. */
  private failed(cause: unknown, { batch, reason }: DeliveryRequest): boolean {
    // `instanceof` throws for some proxies.
    const { status = 0, retryAfterMs = 0 } = attempt(() => (cause instanceof Refusal ? cause : undefined)) ?? {};
    this.backoff.postpone(retryAfterMs);
    if (status === 400 || status === 413) {
      const mayContinue = this.size.refused(batch, status === 413);
      if (countOf(batch) === 1) this.reportRefused(batch, cause);
      if (mayContinue) return true;
    } else batch.end("Failed");
    // The app's own keepalive requests may have used up the 64 KB.
    if (reason !== "hide" || errorNameOf(cause) !== "TypeError") this.fail(cause, status);
    return false;
  }

  private reportRefused({ impressions, unseen }: Batch, cause: unknown): void {
    const [entry] = [...impressions, ...unseen];
    const message = `${this.address} refuses ${JSON.stringify(entry?.id)}, which is left out until the next visit; check this id`;
    this.source.report(failure("delivery", message, cause));
  }

  private fail(cause: unknown, status = 0): void {
    const { namespace } = this.source.options;
    const message =
      status === 409
        ? `the session is not that of the namespace "${namespace}": its impressions are tried again later; call signOut before a session ends`
        : `impressions could not be delivered to ${this.address} and are tried again`;
    if (this.backoff.failed(status)) this.source.report(failure("delivery", message, cause));
  }

  /** Aborts the selected requests; their entries are due again. */
  private drop(selects: (request: DeliveryRequest) => boolean): void {
    for (const request of this.requests) {
      if (!selects(request)) continue;
      this.requests.delete(request);
      request.batch.end("Failed");
      request.abort(DROPPED);
    }
  }

  // As the page hides.

  private hide(): void {
    if (!this.isOn || this.hasLeft || this.backoff.requestedMs > 0) return;
    this.drop(({ reason }) => reason !== "hide");
    const last = this.beginLast();
    if (!last) return;
    this.hasLeft = true;
    const sent = this.send(last.batch, "hide", last.bytes);
    this.hiding = Promise.all([this.hiding, sent]).then(() => this.schedule(this.delayMs));
  }

  /** A batch whose report fits into the remaining keepalive bytes. */
  private beginLast(): { readonly batch: Batch; readonly bytes: number } | undefined {
    const bytesOf = (batch: Pick<Batch, "impressions" | "unseen">): number =>
      attempt(() => createEncoder().encode(JSON.stringify(this.reportOf(batch))).length) ?? Infinity;
    const room = MAX_KEEPALIVE_BYTES - keepaliveBytes;
    const idsRoom = room - bytesOf({ impressions: [], unseen: [] });
    // Escapes can make an id's JSON longer than the id.
    for (let most = this.size.most; most > 0 && idsRoom >= MIN_KEEPALIVE_BYTES; most >>= 1) {
      const batch = this.source.beginBatch(most, idsRoom, "hide");
      const bytes = batch ? bytesOf(batch) : 0;
      if (!batch || bytes <= room) return batch && { batch, bytes };
      batch.end("Failed");
    }
    return undefined;
  }

  /**
   * Whether a request counts as delivered before its response, which the page may never read: if a loss is improbable.
   */
  private countsAsDelivered({ send, fetch }: CheckedReportOptions): boolean {
    const isWorking = !this.backoff.isFailing && !this.size.isRefusing && mayBeOnline();
    return isWorking && !send && !fetch && (attempt(() => "keepalive" in Request.prototype) ?? false);
  }
}

/** Some navigators, such as Node's, have no `onLine`. */
function mayBeOnline(): boolean {
  return (globalThis.navigator as Navigator | undefined)?.onLine !== false;
}
