/** Stores. The engine decides what a call loads, replaces and retries; the steps that it returns are performed here. */
import {
  callBack,
  describe,
  failure,
  readGiven,
  refuse,
  SeenGuardError,
  warnOnce,
  type ErrorListener,
} from "../../errors.js";
import { MAX_MS, pause, withTimeout } from "../../platform/host.js";
import type { StoreCalls, TextBatch } from "../../generated/server/seenguard.js";
import { collectRecorded, isId, isWellFormed } from "../../input/ids.js";
import {
  aFunction,
  checkAllOptions,
  isFunction,
  isSeconds,
  isNonEmptyString,
  wholeNumber,
  type Rules,
} from "../../input/options.js";
import type * as Api from "../../types/server.js";
import { serverClock } from "../call-options.js";
import { chainRules, withFormat, withOptions, type GivenOptions } from "../chain-options.js";
import { call, callWith, loadServerEngine, refusalOf, type ServerEngine } from "../engine.js";
import { checkPage } from "../page-request.js";
import { bytesOf, checkReceived, partsOfReport, readPosted } from "../report.js";
import { makePage, ShardChain } from "../shard-chain.js";
import { backendPerformer, StoreFailure, type Performer, type Step } from "./performer.js";

export function seenStore(backend: Api.Backend, options: Api.StoreOptions = {}): Api.SeenStore {
  readGiven("bad-option", "the backend of seenStore", () => {
    if (!isFunction((backend as Partial<Api.Backend> | null | undefined)?.load)) refuse("seenStore takes a backend");
  });
  return new ChainStore("seenStore", options, backendPerformer(backend));
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

const OVERTAKEN = "others changed this user's data in each attempt: try again";
const UNEXPECTED = "a script returned an unexpected result: check that the address is that of a Redis";
/** The most pages that wait at the same time: an outage must cost neither memory nor time. */
const MAX_WAITING = 1_024;

/** The kinds of calls, as numbers of the engine's `begin`. */
const Work = { Read: 0, Update: 1, Forget: 2, Unsee: 3, Ingest: 4, Accept: 5 } as const;
type Work = (typeof Work)[keyof typeof Work];

type Change = (chain: Api.ShardChain, now: number) => unknown;

/** A call in progress. */
interface Call {
  readonly user: string;
  readonly begun: number;
  readonly limitMs: number;
  readonly change?: Change | undefined;
  /** The result of the latest change. */
  result?: unknown;
  /** Why the latest step failed. */
  failure?: StoreFailure;
  /** Later responses are ignored. */
  isOver?: boolean;
}

/** The arguments of a call for the engine's `begin`, after the user and the namespace. */
interface Parts {
  readonly strings?: readonly string[];
  readonly numbers?: Float64Array;
  readonly bytes?: number;
}

const NONE = new Float64Array();

/** A call with its first step. */
interface Begun {
  readonly call: Call;
  readonly step: Step;
  readonly module: Module;
}

/** The engine, with the calls of one store in it. */
interface Module {
  readonly engine: ServerEngine;
  readonly calls: StoreCalls;
}

export class ChainStore implements Api.SeenStore {
  private readonly performer: Performer;
  private readonly options: GivenOptions;
  private readonly checked: CheckedStore;
  private readonly onError: ErrorListener;
  private module: Module | undefined;
  private hasReportedRefusal = false;
  private isDegraded = false;
  /** The number of reads in progress, including those whose page was degraded. */
  private waiting = 0;

  constructor(method: string, options: unknown, performer: Performer) {
    this.checked = checkAllOptions(method, options, rules) as CheckedStore;
    this.options = withFormat(this.checked);
    this.onError = this.checked.onError ?? warnOnce("code");
    this.performer = performer;
  }

  async read(user: string): Promise<ShardChain> {
    const { step, module } = await this.perform(user, Work.Read, { strings: [""] });
    return ShardChain.wrap(module.engine, () => module.calls.take(step.call));
  }

  async update<R>(user: string, change: (chain: Api.ShardChain, now: number) => R): Promise<R> {
    if (!isFunction(change)) refuse("update takes a function that changes the chain");
    return (await this.perform(user, Work.Update, {}, change)).call.result as R;
  }

  async page<T>(
    user: string,
    ranked: readonly T[],
    options: Omit<Api.PageOptions, "now"> & { id?: Api.IdOf<T> },
  ): Promise<Api.Page<T>> {
    const request = checkPage<T>("page", ranked, options);
    const begun = await this.begin(user, Work.Read, { strings: [request.pending ?? ""] }, this.checked.patienceMs);
    const { engine, calls } = begun.module;
    try {
      await this.load(begun);
      const now = this.now();
      return makePage(engine, ranked, request, (...page) =>
        this.checkedResult(calls.page(begun.step.call, ...page, now)),
      );
    } finally {
      engine.call(() => calls.end(begun.step.call));
    }
  }

  /** Loads for a page, if that is possible within `patienceMs`. */
  private async load(begun: Begun): Promise<void> {
    const { patienceMs, deadlineMs } = this.checked;
    try {
      if (this.waiting >= MAX_WAITING) throw StoreFailure.of("too many pages wait for it");
      this.waiting++;
      const steps = this.steps(begun);
      // A backend that never responds is waited for no longer than in any other call.
      void withTimeout(
        Math.max(patienceMs, deadlineMs),
        steps.catch(() => undefined),
      ).then(() => this.waiting--);
      await this.finish(begun, steps);
      this.isDegraded = false;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      if (begun.module.engine.hasTrapped) throw failure("storage", "the store failed", error.cause);
      if (!this.isDegraded) this.report(failure("storage", "pages are made without stored data", error.cause));
      this.isDegraded = true;
    }
  }

  async accept(user: string, body: unknown): Promise<Api.ReceivedReport> {
    checkUser(user);
    const { now, ...report } = readPosted(body);
    const parts = { ...partsOfReport({ ...report, receivedAt: now }), bytes: bytesOf(body) };
    const { step } = await this.perform(user, Work.Accept, parts);
    if (!step.report) throw new SeenGuardError("engine", "an accepted report is missing (please report this bug)");
    return step.report;
  }

  async ingest(user: string, report: Api.ReceivedReport): Promise<number> {
    return (await this.perform(user, Work.Ingest, partsOfReport(checkReceived(report)))).step.unknown;
  }

  async unsee(user: string, ids: Api.ItemId | Iterable<Api.ItemId>): Promise<void> {
    await this.perform(user, Work.Unsee, { strings: collectRecorded(ids, isId).map(String) });
  }

  async forget(user: string): Promise<void> {
    await this.perform(user, Work.Forget, {});
  }

  /** A whole call within the deadline. */
  private async perform(user: string, work: Work, parts: Parts, change?: Change) {
    const begun = await this.begin(user, work, parts, this.checked.deadlineMs, change);
    try {
      return { ...begun, step: await this.finish(begun, this.steps(begun)) };
    } catch (error) {
      const { engine, calls } = begun.module;
      engine.call(() => calls.end(begun.step.call));
      if (error instanceof StoreFailure) throw failure("storage", "the store failed", error.cause);
      throw error;
    }
  }

  private async begin(
    user: string,
    work: Work,
    { strings = [], numbers = NONE, bytes = 0 }: Parts,
    limitMs: number,
    change?: Change,
  ): Promise<Begun> {
    checkUser(user);
    const namespace: unknown = this.checked.namespaceOf?.(user);
    if (this.checked.namespaceOf && !isNonEmptyString(namespace))
      refuse("namespaceOf must return a string that is not empty");
    const module = (this.module ??= this.moduleOf(await loadServerEngine()));
    const all = [user, (namespace as string | undefined) ?? "", ...strings];
    const now = this.now();
    const step = this.send(module, all, (calls, batch) =>
      calls.begin(batch, numbers, work, bytes, limitMs, Math.random(), now),
    );
    return { call: { user, begun: performance.now(), limitMs, change }, step, module };
  }

  private moduleOf(engine: ServerEngine): Module {
    const { prefix, isCluster = false } = this.performer.keys ?? {};
    const { pendingSeconds, clock } = this.checked;
    const hasClock = clock !== undefined;
    const calls = withOptions(engine, this.options, true, (options) =>
      call(engine, () => new engine.classes.StoreCalls(options, pendingSeconds, hasClock, prefix, isCluster)),
    );
    return { engine, calls };
  }

  /** Performs a call's steps until it is over. */
  private async steps({ call, module, step }: Begun): Promise<Step> {
    try {
      while (step.kind !== "done") {
        if (step.kind === "failed") throw call.failure ?? StoreFailure.of(UNEXPECTED);
        step = await this.next(call, module, step);
      }
      return step;
    } catch (error) {
      // After a trap another process may try again.
      throw module.engine.hasTrapped ? new StoreFailure(StoreFailure.TRANSIENT, error) : error;
    }
  }

  /** Resolves to the last step if it comes within the call's limit. */
  private async finish({ call, module, step }: Begun, steps: Promise<Step>): Promise<Step> {
    // One turn of the event loop more: if the loop was blocked, the response may have arrived already.
    const last = (await withTimeout(call.limitMs, steps)) ?? (await withTimeout(0, steps));
    if (last) return last;
    call.isOver = true;
    const { engine, calls } = module;
    const hasNoResponse = engine.call(() => calls.timedOut(step.call)) ?? true;
    if (!hasNoResponse && call.failure) throw call.failure;
    throw StoreFailure.of(`it has not responded within ${call.limitMs / 1000} s`);
  }

  /** Performs one step. Returns the next one. */
  private async next(call: Call, module: Module, step: Step): Promise<Step> {
    // A call that has failed for the caller must not change anything later.
    const isOver = () => call.isOver === true;
    if (isOver()) return OVER;
    if (step.kind === "change") return this.change(call, module, step);
    if (step.kind === "wait") {
      await pause(step.waitMs);
      return isOver() ? OVER : this.send(module, undefined, (calls) => calls.again(step.call));
    }
    const elapsed = () => performance.now() - call.begun;
    try {
      const response = await this.performer.perform(call.user, step);
      if (isOver()) return OVER;
      if (step.kind === "load" || step.kind === "storePending") {
        const now = this.now();
        const next = this.send(module, response, (calls, batch) => calls.loaded(step.call, batch, now));
        await this.note(call.user, next);
        return next;
      }
      if (response[0] !== "1") throw new StoreFailure(StoreFailure.CONFLICT, new Error(OVERTAKEN));
      return this.send(module, undefined, (calls) => calls.stored(step.call));
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      call.failure = error;
      if (isOver()) return OVER;
      const why = [describe(error.cause)];
      return this.send(module, why, (calls, batch) => calls.failed(step.call, batch, error.kind, elapsed()));
    }
  }

  /** Passes the chain to the app's function, which changes it. */
  private change(call: Call, { engine, calls }: Module, step: Step): Step {
    const chain = ShardChain.wrap(engine, () => calls.take(step.call));
    try {
      call.result = call.change?.(chain, step.now);
      if (call.result instanceof Promise)
        refuse("the function of update must change the chain synchronously: it cannot be async");
      return chain.unwrap((changed) => this.checkedResult(calls.changed(step.call, changed)) as Step);
    } finally {
      chain.free();
    }
  }

  /** Calls into the engine, with strings in its batch. */
  private send(
    { engine, calls }: Module,
    strings: readonly string[] | undefined,
    run: (calls: StoreCalls, batch: TextBatch) => unknown,
  ): Step {
    const send = () => this.checkedResult(run(calls, engine.writer.batch)) as Step;
    return strings ? callWith(engine, strings, send) : call(engine, send);
  }

  /** Returns a result of the engine; throws if that is an error. */
  private checkedResult(result: unknown): unknown {
    const refusal = refusalOf(result);
    if (refusal) throw refusal;
    return result;
  }

  /** Unix seconds of the app's clock, or of this process's. */
  private now(): number {
    const now = (this.checked.clock ?? serverClock)();
    return isSeconds(now)
      ? now
      : refuse("a store's clock must return Unix seconds, up to 2^32 − 1 (milliseconds are more)");
  }

  /** Reports damaged data and a failed write, and removes lists beyond the limit; the next load does so again. */
  private async note(user: string, { refusal, damage, drop }: Step): Promise<void> {
    if (refusal !== undefined && !this.hasReportedRefusal) {
      // Once: a replica or a full Redis refuses each time.
      this.hasReportedRefusal = true;
      this.report(failure("storage", "a device's pending list cannot be stored: pages are made without it", refusal));
    }
    for (const { code, message } of damage)
      this.report(new SeenGuardError("bad-snapshot", `stored data is ignored: ${code}: ${message}`));
    if (drop) await this.performer.perform(user, { kind: "load", command: drop }).catch(() => undefined);
  }

  private report(error: SeenGuardError): void {
    callBack(this.onError, error);
  }
}

/** The step after a call has timed out. */
const OVER = { kind: "done" } as Step;

function checkUser(user: unknown): void {
  if (!isNonEmptyString(user)) refuse("a store's user must be a string that is not empty");
  // All lone surrogates are encoded as the same character: such users would share a list.
  if (!isWellFormed(user)) refuse("a store's user must be well-formed: it has half of a character");
}
