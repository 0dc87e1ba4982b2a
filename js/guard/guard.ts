/** `SeenGuard`: one handle of a namespace. */
import { deviceClock, isElement, isOnDevice, isRoot } from "../platform/host.js";
import type { Engines } from "../engine/load.js";
import { callBack, failure, warnOnce, type SeenGuardError } from "../errors.js";
import { openFeed } from "../feed/feed.js";
import { collectRecorded, freshItems, isUsable, splitItems } from "../input/ids.js";
import { readList } from "../input/list.js";
import {
  CLOSED,
  CONTENTS,
  GONE,
  misuse,
  misuseOfItem,
  misuseOfRecorded,
  misuseOfRoot,
  misuseOfServer,
  misuseOnce,
  noItem,
} from "../input/misuse.js";
import type { DwellListener } from "../observer/dwell.js";
import { observeBelow, observeElement, type ObservedRoot } from "../observer/observer.js";
import { checkOptions, type Rules } from "../input/options.js";
import { storeOf } from "../storage/custom.js";
import { clearNamespace } from "../storage/clear.js";
import type * as Api from "../types/seenguard.js";
import { Namespace, refused, type Holder } from "./namespace.js";
import { guardedFetch } from "./guarded-fetch.js";
import { HOOK, type Tool } from "./tools.js";
import {
  checkClear,
  checkGuardOptions,
  checkReportOptions,
  deliverRules,
  feedRules,
  fetchRules,
  observeItemRules,
  observeRules,
  recordRules,
  signOutRules,
  type CheckedItemOptions,
  type CheckedObserveOptions,
  type OpenOptions,
} from "./options.js";
import { clearVerdicts, findNamespace, hold, keyedVerdicts, release, signOutOf } from "./registry.js";
import { Subscribers } from "./subscribers.js";

/** How long `close` waits for a server that does not respond. */
const CLOSE_DELIVERY_MS = 2_000;

/** The state of a `SeenGuard`. */
interface Handle {
  readonly holder: Holder;
  namespace: Namespace;
  isClosed: boolean;
  /** Resolves when `close` has ended. */
  closing: Promise<void>;
  /** Cleanup functions that `close` runs. */
  readonly stops: Set<() => void>;
  /** Cleanup functions that it runs after it has delivered. */
  readonly reports: Set<() => void>;
}

/** The methods of an open guard, with any engine. */
class OpenGuard implements Api.SeenGuard {
  /** A function, since proxies, such as those of Vue and Alpine, wrap objects in properties. */
  private readonly handle: () => Handle;

  constructor(handle: Handle) {
    this.handle = () => handle;
  }

  /** The namespace, for a call by the app; a call after `close` is reported as misuse. */
  private namespace(): Namespace {
    const { isClosed, namespace } = this.handle();
    if (__DEV__ && isClosed) this.reportMisuse(misuse(CLOSED));
    return namespace;
  }

  apply(snapshot: Api.Snapshot | null | undefined): Api.ApplyResult {
    const { isClosed, namespace } = this.handle();
    // The response to a request from before `close` is not misuse.
    return isClosed ? refused("closed") : namespace.apply(snapshot);
  }

  filter<T extends Api.Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: Api.IdOf<T>): T[];
  filter<T>(items: readonly T[], id?: Api.IdOf<T>): T[] {
    const { list, collected } = readList(items, id, this.reportMisuse);
    const { fresh } = this.namespace().split(collected, false);
    return freshItems(list, collected.indices, fresh);
  }

  split<T extends Api.Identified>(items: readonly T[]): { fresh: T[]; seen: T[] };
  split<T>(items: readonly T[], id: Api.IdOf<T>): { fresh: T[]; seen: T[] };
  split<T>(items: readonly T[], id?: Api.IdOf<T>): { fresh: T[]; seen: T[] } {
    const { list, collected } = readList(items, id, this.reportMisuse);
    const { fresh, seen } = this.namespace().split(collected, true);
    return splitItems(list, collected.indices, fresh, seen);
  }

  private recorded(ids: unknown): Api.ItemId[] {
    return collectRecorded(ids, isUsable, (value) => {
      if (__DEV__) this.reportMisuse(misuseOfRecorded(value));
    });
  }

  /** Reports misuse, except in builds for production. */
  private readonly reportMisuse = (error: SeenGuardError | undefined): void => {
    if (__DEV__ && error) callBack(this.handle().holder.onError, error);
  };

  explain(id: Api.ItemId): Api.Explanation {
    return isUsable(id) ? this.namespace().explain(id) : { seen: false };
  }

  record(ids: Api.Identified | Iterable<Api.Identified>, options: Api.RecordOptions = {}): number {
    const { local } = checkOptions("record", options, recordRules);
    return this.namespace().record(this.recorded(ids), local ? "Local" : "Seen");
  }

  unsee(ids: Api.Identified | Iterable<Api.Identified>): number {
    return this.namespace().record(this.recorded(ids), "Unseen");
  }

  pending(limit?: number): string[] {
    return this.namespace().pending(limit);
  }

  headers(): Record<string, string> {
    return this.namespace().headers();
  }

  fetch(options: Api.GuardedFetchOptions): typeof fetch {
    const handle = this.handle();
    const whileOpen = () => (handle.isClosed ? undefined : handle.namespace);
    const checked = checkOptions("fetch", options, fetchRules) as object as Api.GuardedFetchOptions;
    return guardedFetch(whileOpen, checked);
  }

  feed(options: Api.FeedOptions = {}): Api.Feed {
    const { key } = checkOptions("feed", options, feedRules) as Api.FeedOptions;
    const handle = this.handle();
    const { stops } = handle;
    const { options: opened } = this.namespace();
    // A process that renders on a server serves all users, so it stores no verdicts.
    const keyed = key === undefined || rendersOnServer(opened) ? undefined : keyedVerdicts(opened.namespace);
    return openFeed({ namespace: () => handle.namespace, report: this.reportMisuse, stops }, keyed, key);
  }

  observe(root: ObservedRoot, options: Api.ObserveOptions = {}): () => void {
    const checked = checkOptions("observe", options, observeRules) as object as CheckedObserveOptions;
    const { attribute, threshold, dwellMs, idsOf, signal } = checked;
    if (__DEV__) this.reportMisuse(misuseOfRoot(root));
    if (!isRoot(root)) return () => {};
    const items = this.dwellListener(checked, (id, element) => [id, ...collectRecorded(callBack(idsOf, id, element))]);
    const misuses = __DEV__
      ? { onGone: () => this.reportMisuse(misuse(GONE)), onNoItem: () => this.reportMisuse(misuse(noItem(attribute))) }
      : undefined;
    const stop = observeBelow(root, { attribute, threshold, dwellMs }, items, misuses);
    return this.untilClosed(stop, signal);
  }

  observeItem(
    element: Element,
    id: Api.ItemId | readonly Api.ItemId[],
    options: Api.ObserveItemOptions = {},
  ): () => void {
    const checked = checkOptions("observeItem", options, observeItemRules) as object as CheckedItemOptions;
    const ids = collectRecorded(id).map(String);
    const [first = ""] = ids;
    if (__DEV__) this.reportMisuse(misuseOfItem(element, id, ids));
    if (!isElement(element) || ids.length === 0) return () => {};
    const { threshold, dwellMs, signal } = checked;
    const listener = this.dwellListener(checked, () => ids);
    return this.untilClosed(observeElement(element, first, { threshold, dwellMs }, listener), signal);
  }

  /** Returns the listener that records items in view for long enough; `idsOf` returns all ids of an item. */
  private dwellListener(
    { local, onImpression }: CheckedItemOptions,
    idsOf: (id: string, element: Element) => readonly Api.ItemId[],
  ): DwellListener {
    const { observed } = this.namespace();
    // A local record does not replace one for delivery, so they have separate keys.
    const keyOf = (id: string) => `${String(local)} ${id}`;
    return {
      onDwell: (id, element) => {
        if (!observed.add(keyOf(id), element, this.explain(id).seen)) return;
        this.record(new Set(idsOf(id, element).map(String)), { local });
        callBack(onImpression, id, element);
      },
      onOut: (id) => observed.leave(keyOf(id)),
      onContents: __DEV__ ? () => this.reportMisuse(misuse(CONTENTS)) : undefined,
    };
  }

  /** Runs a cleanup function once: on `close`, when the signal aborts, or when the returned function is called. */
  private untilClosed(stop: () => void, signal?: AbortSignal | null, stops = this.handle().stops): () => void {
    const { isClosed } = this.handle();
    const stopOnce = () => {
      if (!stops.delete(stopOnce)) return;
      signal?.removeEventListener("abort", stopOnce);
      stop();
    };
    stops.add(stopOnce);
    signal?.addEventListener("abort", stopOnce);
    if (isClosed || signal?.aborted) stopOnce();
    return stopOnce;
  }

  report(options: Api.ReportOptions): () => void {
    const checked = checkReportOptions(options);
    const { signal } = checked;
    const namespace = this.namespace();
    if (signal?.aborted) return () => {};
    const stop = this.untilClosed(namespace.startReport(checked), signal, this.handle().reports);
    // `close` ends the report after it has delivered, even if a component calls this meanwhile.
    return () => {
      if (!this.handle().isClosed) stop();
    };
  }

  [HOOK](tool: Tool): () => void {
    return this.untilClosed(this.handle().namespace.tools.add(tool));
  }

  subscribe(listener: () => void): () => void {
    return this.handle().holder.subscribers.add(listener);
  }

  stats(): Api.GuardStats {
    return this.handle().namespace.stats();
  }

  flush(): Promise<void> {
    return this.handle().namespace.flush();
  }

  async deliver(options: Api.DeliverOptions = {}): Promise<{ delivered: number; left: number }> {
    const { timeoutMs } = checkOptions("deliver", options, deliverRules);
    return this.handle().namespace.deliver(timeoutMs as number);
  }

  close(): Promise<void> {
    return closeHandle(this.handle(), CLOSE_DELIVERY_MS);
  }
}

function newHandle(namespace: Namespace, holder: Holder): Handle {
  return { holder, namespace, isClosed: false, closing: Promise.resolve(), stops: new Set(), reports: new Set() };
}

/** Closes a handle; delivers undelivered impressions first, for at most `timeoutMs`. */
function closeHandle(handle: Handle, timeoutMs: number): Promise<void> {
  if (handle.isClosed) return handle.closing;
  const { namespace, holder } = handle;
  const close = async () => {
    // The report of another handle continues by itself, with its delay after a failure.
    if (handle.reports.size > 0 || !namespace.reporter?.isOn) await namespace.deliver(timeoutMs);
    for (const stop of [...handle.reports]) stop();
    await release(namespace, holder);
  };
  handle.isClosed = true;
  for (const stop of [...handle.stops]) stop();
  handle.namespace = new Namespace(namespace.options, namespace.engines);
  holder.subscribers.notify();
  return (handle.closing = close());
}

/** The `SeenGuard` class of an entry, which runs these engines. `more`: the entry's additional options. */
export function seenGuardWith(engines: Engines, more: Rules = {}) {
  return class SeenGuard extends OpenGuard {
    static async open(options: Api.GuardOptions): Promise<SeenGuard> {
      const checked = checkGuardOptions(options, more);
      const listener = checked.onError ?? warnOnce();
      const onError = __DEV__ ? misuseOnce(listener) : listener;
      const close = (timeoutMs: number) => closeHandle(handle, timeoutMs);
      const holder: Holder = { onError, onLag: checked.onLag, subscribers: new Subscribers(), close };
      const handle = newHandle(new Namespace(checked, engines), holder);
      const namespace = rendersOnServer(checked)
        ? unstartedNamespace(checked, engines, holder)
        : await hold(checked, holder, () => new Namespace(checked, engines));
      // `signOut` may have been called meanwhile.
      if (handle.isClosed) await release(namespace, holder);
      else handle.namespace = namespace;
      return new SeenGuard(handle);
    }

    static clear(namespace: string, storage?: Api.GuardOptions["storage"]): Promise<void> {
      return clear(namespace, storage);
    }

    static async signOut(namespace: string, options: Api.SignOutOptions = {}): Promise<void> {
      const checked = checkOptions("SeenGuard.signOut", options, signOutRules);
      const { timeoutMs, storage } = checked as object as Required<Api.SignOutOptions>;
      const open = findNamespace(namespace);
      await signOutOf(namespace, async () => {
        await Promise.all([...(open?.holders ?? [])].map(({ close }) => close(timeoutMs)));
        await clear(namespace, storage ?? open?.options.storage);
      });
    }
  };
}

export type SeenGuardClass = ReturnType<typeof seenGuardWith>;

async function clear(namespace: string, given?: Api.GuardOptions["storage"]): Promise<void> {
  const { storage } = checkClear(namespace, given);
  const open = findNamespace(namespace);
  const store = storage === undefined && open ? open.store : storeOf(storage);
  const wallMs = (open?.clock ?? deviceClock).wallMs();
  // Called before the first `await`: impressions that are recorded after this call stay.
  const clearing = clearNamespace(namespace, store, () => findNamespace(namespace), wallMs);
  clearVerdicts(namespace);
  try {
    await clearing;
  } catch (cause) {
    throw failure("storage", "the namespace is not cleared, and the next page tries again", cause);
  }
}

/** Whether this is server rendering, and the app has named no storage. */
function rendersOnServer({ storage }: Api.GuardOptions): boolean {
  return storage === undefined && !isOnDevice();
}

/** For server rendering: a namespace that lets everything pass. Reports this as misuse once in a process. */
function unstartedNamespace(options: OpenOptions, engines: Engines, { onError }: Holder): Namespace {
  const error = __DEV__ ? misuseOfServer() : undefined;
  if (error) callBack(onError, error);
  return new Namespace(options, engines);
}
