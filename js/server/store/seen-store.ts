/** What every store shares: a change is made again until no other has come between, so that none is lost. */
import { callBack, failure, refuse, SeenGuardError, warnOnce, type ErrorListener } from "../../errors.js";
import { MAX_MS } from "../../host.js";
import { collectRecorded, isId, isWellFormed } from "../../input/ids.js";
import { aFunction, checkOptions, isFunction, isText, wholeNumber, type Rules } from "../../options.js";
import type * as Api from "../../types/server.js";
import { checkTime } from "../call-options.js";
import { chainRules, withFormat, type GivenOptions } from "../chain-options.js";
import { loadServerEngine } from "../engine.js";
import { checkPage } from "../page-request.js";
import { checkReceived, parseReport, withinLimits } from "../report.js";
import { ShardChain } from "../shard-chain.js";
import { StoreFailure, tryFor } from "./retry.js";
import { isSameList, NOTHING_SEEN, type ReadSeen, type StoredSeen } from "./stored-seen.js";

/** What a device that asks has pending. */
export interface Asking {
  readonly pending: string;
  readonly namespace: string | undefined;
  /** Unix seconds. */
  readonly now: number;
  readonly pendingSeconds: number | undefined;
}

export interface Replacement<Seen extends StoredSeen> {
  /** As it was read. */
  readonly before: Seen;
  readonly after: StoredSeen;
  /** For how many seconds to keep it; 0 for ever. */
  readonly lifeSeconds: number;
  /** Whether to delete what is kept of devices. */
  readonly forgets: boolean;
}

/**
 * Where users' chains are. `Seen`: what it reads, which it may know more of. It rejects with a `StoreFailure`, and may
 * take as long as it likes.
 */
export interface Backend<Seen extends StoredSeen> {
  /** Reads, after it has kept what a device has pending. */
  read(user: string, asking?: Asking): Promise<ReadSeen<Seen>>;
  /** Keeps that alone. */
  keep(user: string, asking: Asking): Promise<void>;
  /** Stores `after` if the store still has `before`; else changes nothing, and returns false. */
  replace(user: string, replacement: Replacement<Seen>): Promise<boolean>;
}

/** The options of a store, as they are checked. */
interface CheckedStore extends Record<string, unknown> {
  readonly namespaceOf?: (user: string) => string;
  readonly onError?: ErrorListener;
  readonly pendingSeconds?: number;
  readonly patienceMs: number;
  readonly deadlineMs: number;
}

const rules = {
  ...chainRules,
  namespaceOf: aFunction,
  onError: aFunction,
  pendingSeconds: wholeNumber(1, 2 ** 31 - 1, undefined),
  patienceMs: wholeNumber(1, MAX_MS, 300),
  deadlineMs: wholeNumber(1, MAX_MS, 5_000),
} satisfies Rules;

const OVERTAKEN = "others changed what is stored of this user all the time";
/** So many pages wait at once: an outage must cost neither memory nor time. */
const MOST_WAITING = 1_024;

export class ChainStore<Seen extends StoredSeen> implements Api.SeenStore {
  private readonly backend: Backend<Seen>;
  private readonly options: GivenOptions;
  private readonly namespaceOf: CheckedStore["namespaceOf"];
  private readonly pendingSeconds: number | undefined;
  private readonly patienceMs: number;
  private readonly deadlineMs: number;
  private readonly onError: ErrorListener;
  private hasToldRefusal = false;
  private isDegraded = false;
  /** Pages whose read the backend has not answered, though they may be out. */
  private waiting = 0;

  constructor(method: string, options: unknown, backend: Backend<Seen>) {
    const { namespaceOf, onError, pendingSeconds, patienceMs, deadlineMs, ...chainOptions } = checkOptions(
      method,
      options,
      rules,
    ) as CheckedStore;
    this.options = withFormat(chainOptions);
    this.namespaceOf = namespaceOf;
    this.pendingSeconds = pendingSeconds;
    this.patienceMs = patienceMs;
    this.deadlineMs = deadlineMs;
    this.onError = onError ?? warnOnce("code");
    this.backend = backend;
  }

  async read(user: string): Promise<ShardChain> {
    checkUser(user);
    const { seen } = await this.inTime(() => this.backend.read(user));
    return (await this.restore(seen)).chain;
  }

  async update<R>(user: string, change: (chain: Api.ShardChain) => R): Promise<R> {
    return this.change(user, change);
  }

  async page<T>(
    user: string,
    ranked: readonly T[],
    options: Api.PageOptions & { id?: Api.IdOf<T> },
  ): Promise<Api.Page<T>> {
    const namespace = this.namespaceFor(user);
    const request = checkPage<T>("page", ranked, options);
    const { pendingSeconds } = this;
    const read = await this.readPatiently(user, request, namespace);
    const { chain } = await this.restore(read?.seen ?? NOTHING_SEEN);
    try {
      const page = chain.page(ranked, request, { kept: read?.kept ?? "", pendingSeconds, namespace });
      return read ? page : { items: page.items, next: page.next, degraded: true };
    } finally {
      chain.free();
    }
  }

  async accept(user: string, body: unknown, options?: { now?: number }): Promise<Api.ReceivedReport> {
    const namespace = this.namespaceFor(user);
    const now = checkTime("accept", options);
    await loadServerEngine();
    const report = withinLimits(parseReport(body, { now }));
    refuseAnother(report, namespace);
    const { pending } = report;
    if (pending !== undefined) {
      const { pendingSeconds } = this;
      await this.inTime(() => this.backend.keep(user, { pending, namespace, now, pendingSeconds }));
    }
    return report;
  }

  async ingest(user: string, report: Api.ReceivedReport): Promise<number> {
    const checked = checkReceived(report);
    refuseAnother(checked, this.namespaceFor(user));
    return this.change(user, (chain) => chain.ingest(checked));
  }

  async unsee(user: string, ids: Api.ItemId | Iterable<Api.ItemId>): Promise<void> {
    // What can be read once may be needed again.
    const all = collectRecorded(ids, isId);
    return this.change(user, (chain) => chain.unsee(all));
  }

  async forget(user: string): Promise<void> {
    return this.change(user, (chain) => chain.forget(), true);
  }

  /** What is stored, if it comes within the patience. */
  private async readPatiently(
    user: string,
    { pending, now }: { pending: string | undefined; now: number },
    namespace: string | undefined,
  ): Promise<ReadSeen<Seen> | undefined> {
    // The patience is with the store alone.
    await loadServerEngine();
    const { pendingSeconds } = this;
    const asking = pending === undefined ? undefined : { pending, namespace, now, pendingSeconds };
    try {
      if (this.waiting >= MOST_WAITING) throw StoreFailure.of("too many pages wait for it");
      this.waiting++;
      const read = await tryFor(
        this.patienceMs,
        () => this.backend.read(user, asking),
        () => {
          this.waiting--;
        },
      );
      this.isDegraded = false;
      this.tellRefusal(read.refusal);
      return read;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      if (!this.isDegraded) this.tell(failure("storage", "pages are made without what is stored", error.cause));
      this.isDegraded = true;
      return undefined;
    }
  }

  /** What every other call comes to within the deadline. */
  private async inTime<T>(attempt: (isOver: () => boolean) => Promise<T>): Promise<T> {
    try {
      return await tryFor(this.deadlineMs, attempt);
    } catch (error) {
      throw error instanceof StoreFailure ? failure("storage", "the store failed", error.cause) : error;
    }
  }

  private async change<R>(user: string, change: (chain: Api.ShardChain) => R, forgets = false): Promise<R> {
    checkUser(user);
    if (!isFunction(change)) refuse("update takes a function that changes the chain");
    return this.inTime((isOver) => this.tryChange(user, change, forgets, isOver));
  }

  private async tryChange<R>(
    user: string,
    change: (chain: Api.ShardChain) => R,
    forgets: boolean,
    isOver: () => boolean,
  ): Promise<R> {
    const { seen: before } = await this.backend.read(user);
    const { chain, isDamaged } = await this.restore(before);
    try {
      // The caller has been told that it failed: nothing happens afterwards.
      if (isOver()) throw StoreFailure.of(OVERTAKEN);
      const fieldsBefore = chain.storedFields();
      const result = change(chain);
      if (result instanceof Promise) refuse("update's function changes the chain at once: it cannot be async");
      const after = { shards: chain.snapshot().shards, fields: chain.storedFields() };
      const areFieldsSame = !isDamaged && isSameList(fieldsBefore, after.fields);
      if (!forgets && areFieldsSame && isSameList(before.shards, after.shards)) return result;
      const lifeSeconds = chain.lifeSeconds();
      const replacement = { before, after, lifeSeconds, forgets };
      if (!(await this.backend.replace(user, replacement))) throw StoreFailure.of(OVERTAKEN);
      return result;
    } finally {
      chain.free();
    }
  }

  /** The chain of what is stored. It leaves out and tells what it cannot read. */
  private async restore({ shards, fields }: StoredSeen): Promise<{ chain: ShardChain; isDamaged: boolean }> {
    const chain = await ShardChain.ofShards(shards, this.options, true);
    const leftOut = chain.restoreFields(fields);
    if (leftOut > 0) {
      const what = `${leftOut} of the fields stored beside a user's shards cannot be read, and are left out`;
      this.tell(new SeenGuardError("bad-snapshot", what));
    }
    for (const { index, reason } of chain.rejected)
      this.tell(
        new SeenGuardError("bad-snapshot", `${reason}: a user's shard ${index} cannot be read, and is left out`),
      );
    return { chain, isDamaged: leftOut > 0 };
  }

  private namespaceFor(user: string): string | undefined {
    checkUser(user);
    const namespace: unknown = this.namespaceOf?.(user);
    if (this.namespaceOf && !isText(namespace)) refuse("namespaceOf must return a text");
    return namespace as string | undefined;
  }

  /** Once: a replica or a full Redis refuses every time. */
  private tellRefusal(refusal: unknown): void {
    if (refusal === undefined || this.hasToldRefusal) return;
    this.hasToldRefusal = true;
    this.tell(failure("storage", "what a device has pending cannot be kept, and pages go on without it", refusal));
  }

  private tell(error: SeenGuardError): void {
    callBack(this.onError, error);
  }
}

/** A person's session must not leave anything with the next one. */
function refuseAnother({ namespace }: Api.ReceivedReport, wanted: string | undefined): void {
  if (wanted === undefined || namespace === wanted) return;
  throw new SeenGuardError("wrong-namespace", "the report is of another namespace than this user's");
}

function checkUser(user: unknown): string {
  if (!isText(user)) refuse("a store's user must be a text that is not empty");
  // Halves of characters all become the same one on their way: such users would share a list.
  return isWellFormed(user) ? user : refuse("a store's user must be well-formed: it has half of a character");
}
