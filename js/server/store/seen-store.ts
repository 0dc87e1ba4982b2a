/** The logic of every store: a change is repeated until no other one intervenes, so that none is lost. */
import { callBack, failure, readGiven, refuse, SeenGuardError, warnOnce, type ErrorListener } from "../../errors.js";
import { MAX_MS } from "../../platform/host.js";
import { collectRecorded, isId, isWellFormed } from "../../input/ids.js";
import {
  aFunction,
  checkAllOptions,
  isFunction,
  isSeconds,
  isText,
  wholeNumber,
  type Rules,
} from "../../input/options.js";
import type * as Api from "../../types/server.js";
import { serverClock } from "../call-options.js";
import { chainRules, withFormat, type GivenOptions } from "../chain-options.js";
import { call, loadServerEngine } from "../engine.js";
import { checkPage } from "../page-request.js";
import { checkReceived, parseReport, withinLimits } from "../report.js";
import { ShardChain } from "../shard-chain.js";
import { StoreFailure, tryFor } from "./retry.js";

export const NOTHING_STORED: Api.StoredChain = { shards: [], fields: [] };

export function seenStore(backend: Api.Backend, options: Api.StoreOptions = {}): Api.SeenStore {
  readGiven("bad-option", "what seenStore was given", () => {
    if (!isFunction((backend as Partial<Api.Backend> | null | undefined)?.load)) refuse("seenStore takes a backend");
  });
  return new ChainStore("seenStore", options, backend);
}

/** The checked options of a store. */
interface CheckedStore extends Record<string, unknown> {
  readonly namespaceOf?: (user: string) => string;
  readonly clock?: () => number;
  readonly onError?: ErrorListener;
  readonly pendingSeconds?: number;
  readonly patienceMs: number;
  readonly deadlineMs: number;
}

const rules = {
  ...chainRules,
  namespaceOf: aFunction,
  clock: aFunction,
  onError: aFunction,
  pendingSeconds: wholeNumber(1, 2 ** 31 - 1, undefined),
  patienceMs: wholeNumber(1, MAX_MS, 300),
  deadlineMs: wholeNumber(1, MAX_MS, 5_000),
} satisfies Rules;

const OVERTAKEN = "others changed what is stored of this user all the time";
/** The most pages that wait at the same time: an outage must cost neither memory nor time. */
const MOST_WAITING = 1_024;

export class ChainStore implements Api.SeenStore {
  private readonly backend: Api.Backend;
  private readonly options: GivenOptions;
  private readonly namespaceOf: CheckedStore["namespaceOf"];
  private readonly clock: CheckedStore["clock"];
  private readonly pendingSeconds: number | undefined;
  private readonly patienceMs: number;
  private readonly deadlineMs: number;
  private readonly onError: ErrorListener;
  private hasToldRefusal = false;
  private isDegraded = false;
  /** The number of reads in progress, including those whose page was degraded. */
  private waiting = 0;

  constructor(method: string, options: unknown, backend: Api.Backend) {
    const checked = checkAllOptions(method, options, rules) as CheckedStore;
    const { namespaceOf, clock, onError, pendingSeconds, patienceMs, deadlineMs, ...chainOptions } = checked;
    this.options = withFormat(chainOptions);
    this.namespaceOf = namespaceOf;
    this.clock = clock;
    this.pendingSeconds = pendingSeconds;
    this.patienceMs = patienceMs;
    this.deadlineMs = deadlineMs;
    this.onError = onError ?? warnOnce("code");
    this.backend = backend;
  }

  async read(user: string): Promise<ShardChain> {
    await checkUser(user);
    const loaded = await this.inTime(() => this.load(user));
    return (await this.restore(loaded)).chain;
  }

  async update<R>(user: string, change: (chain: Api.ShardChain, now: number) => R): Promise<R> {
    return this.change(user, change);
  }

  async page<T>(
    user: string,
    ranked: readonly T[],
    options: Omit<Api.PageOptions, "now"> & { id?: Api.IdOf<T> },
  ): Promise<Api.Page<T>> {
    const namespace = await this.namespaceFor(user);
    const request = checkPage<T>("page", ranked, options);
    const { pendingSeconds } = this;
    const loaded = await this.loadPatiently(user, request.pending, namespace);
    const { chain } = await this.restore(loaded);
    try {
      const page = chain.page(ranked, request, this.now(loaded), {
        kept: loaded?.kept ?? "",
        pendingSeconds,
        namespace,
      });
      return loaded ? page : { items: page.items, next: page.next, degraded: true };
    } finally {
      chain.free();
    }
  }

  async accept(user: string, body: unknown): Promise<Api.ReceivedReport> {
    const namespace = await this.namespaceFor(user);
    const report = withinLimits(parseReport(body, { now: this.now() }));
    refuseAnother(report, namespace);
    const told = await this.toKeep(report.pending, namespace);
    if (told) await this.inTime(() => asked(() => this.backend.keep(user, told)));
    return report;
  }

  async ingest(user: string, report: Api.ReceivedReport): Promise<number> {
    const checked = checkReceived(report);
    refuseAnother(checked, await this.namespaceFor(user));
    // A server whose clock is ahead may have received it after now.
    return this.change(user, (chain, now) =>
      chain.ingest({ ...checked, receivedAt: Math.min(checked.receivedAt, now * 1000) }),
    );
  }

  async unsee(user: string, ids: Api.ItemId | Iterable<Api.ItemId>): Promise<void> {
    // A change may run twice, but an iterator can be read only once.
    const all = collectRecorded(ids, isId);
    return this.change(user, (chain, now) => chain.unsee(all, { now }));
  }

  async forget(user: string): Promise<void> {
    return this.change(user, (chain, now) => chain.forget({ now }), true);
  }

  /** The time of the loaded data. */
  private now(loaded?: Api.Loaded): number {
    const now = this.clock?.() ?? loaded?.now ?? serverClock();
    return isSeconds(now)
      ? now
      : refuse("a store's clock must tell Unix seconds, up to 2^32 − 1 (milliseconds are more)");
  }

  private async load(user: string, told?: Api.PendingToKeep): Promise<Api.Loaded> {
    return asked(() => this.backend.load(user, told));
  }

  /** The part of a device's pending impressions to keep. */
  private async toKeep(
    pending: string | undefined,
    namespace: string | undefined,
  ): Promise<Api.PendingToKeep | undefined> {
    if (pending === undefined) return undefined;
    const engine = await loadServerEngine();
    const toKeep = () => engine.classes.pendingToKeep(pending, namespace, this.now(), this.pendingSeconds) as unknown;
    return call(engine, toKeep) as Api.PendingToKeep | undefined;
  }

  /** The stored data, if it arrives within the patience. */
  private async loadPatiently(
    user: string,
    pending: string | undefined,
    namespace: string | undefined,
  ): Promise<Api.Loaded | undefined> {
    const told = await this.toKeep(pending, namespace);
    try {
      if (this.waiting >= MOST_WAITING) throw StoreFailure.of("too many pages wait for it");
      this.waiting++;
      const loaded = await tryFor(
        this.patienceMs,
        () => this.load(user, told),
        () => {
          this.waiting--;
        },
      );
      this.isDegraded = false;
      this.tellRefusal(loaded.refusal);
      return loaded;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      if (!this.isDegraded) this.tell(failure("storage", "pages are made without what is stored", error.cause));
      this.isDegraded = true;
      return undefined;
    }
  }

  /** The result of any other call within the deadline. */
  private async inTime<T>(attempt: (isOver: () => boolean) => Promise<T>): Promise<T> {
    try {
      return await tryFor(this.deadlineMs, attempt);
    } catch (error) {
      throw error instanceof StoreFailure ? failure("storage", "the store failed", error.cause) : error;
    }
  }

  private async change<R>(
    user: string,
    change: (chain: Api.ShardChain, now: number) => R,
    forgets = false,
  ): Promise<R> {
    await checkUser(user);
    if (!isFunction(change)) refuse("update takes a function that changes the chain");
    return this.inTime((isOver) => this.tryChange(user, change, forgets, isOver));
  }

  private async tryChange<R>(
    user: string,
    change: (chain: Api.ShardChain, now: number) => R,
    forgets: boolean,
    isOver: () => boolean,
  ): Promise<R> {
    const loaded = await this.load(user);
    const { stored: before = NOTHING_STORED, revision } = loaded;
    const { chain, isDamaged } = await this.restore(loaded);
    try {
      // The call has failed for the caller: it must not change anything later.
      if (isOver()) throw StoreFailure.of(OVERTAKEN);
      const now = this.now(loaded);
      const { fields: fieldsBefore } = chain.stored(now);
      const result = change(chain, now);
      if (result instanceof Promise) refuse("update's function changes the chain at once: it cannot be async");
      const after = chain.stored(now);
      const areFieldsSame = !isDamaged && isSameList(fieldsBefore.flat(), after.fields.flat());
      if (!forgets && areFieldsSame && isSameList(before.shards, after.shards)) return result;
      const replacement = { revision, before, after, lifeSeconds: chain.lifeSeconds(now) };
      const { backend } = this;
      const store = () => (forgets ? backend.forget(user, replacement) : backend.replace(user, replacement));
      if (!(await asked(store))) throw StoreFailure.of(OVERTAKEN);
      return result;
    } finally {
      chain.free();
    }
  }

  /** Reads a stored chain. Ignores and reports data that cannot be read. */
  private async restore(loaded?: Api.Loaded): Promise<{ chain: ShardChain; isDamaged: boolean }> {
    const { shards, fields } = loaded?.stored ?? NOTHING_STORED;
    const chain = await ShardChain.ofShards(shards, this.options, true);
    const leftOut = chain.restoreFields(fields.flat());
    if (leftOut > 0) {
      const what = `${leftOut} of the fields stored beside a user's shards cannot be read, and are left out`;
      this.tell(new SeenGuardError("bad-snapshot", what));
    }
    for (const { index, reason } of chain.rejected)
      this.tell(
        new SeenGuardError("bad-snapshot", `${reason}: a user's shard ${index} cannot be read, and counts for nothing`),
      );
    return { chain, isDamaged: leftOut > 0 };
  }

  private async namespaceFor(user: string): Promise<string | undefined> {
    await checkUser(user);
    const namespace: unknown = this.namespaceOf?.(user);
    if (this.namespaceOf && !isText(namespace)) refuse("namespaceOf must return a text");
    return namespace as string | undefined;
  }

  /** Reports once: a replica or a full Redis refuses each time. */
  private tellRefusal(refusal: unknown): void {
    if (refusal === undefined || this.hasToldRefusal) return;
    this.hasToldRefusal = true;
    this.tell(failure("storage", "what a device has pending cannot be kept, and pages go on without it", refusal));
  }

  private tell(error: SeenGuardError): void {
    callBack(this.onError, error);
  }
}

/** Refuses a report of another user's session. */
function refuseAnother({ namespace }: Api.ReceivedReport, wanted: string | undefined): void {
  if (wanted === undefined || namespace === wanted) return;
  throw new SeenGuardError("wrong-namespace", "the report is of another namespace than this user's");
}

async function checkUser(user: unknown): Promise<void> {
  const engine = await loadServerEngine();
  if (!isText(user)) refuse("a store's user must be a text that is not empty");
  // All lone surrogates are encoded as the same character: such users would share a list.
  if (!isWellFormed(user)) refuse("a store's user must be well-formed: it has half of a character");
  call(engine, () => engine.classes.checkUser(user));
}

/** Treats a backend's rejection as transient, unless it says otherwise. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof StoreFailure || error instanceof SeenGuardError) throw error;
    throw new StoreFailure((error as { isTransient?: unknown } | null | undefined)?.isTransient !== false, error);
  }
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
