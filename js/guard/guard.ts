/** `SeenGuard`: one handle of a namespace. */
import { deviceClock, inTime, isOnDevice, withTimeout } from "../platform/host.js";
import type { Engines } from "../engine/load.js";
import { callBack, failure, misuseOnce, warnOnce, type SeenGuardError } from "../errors.js";
import { openFeed } from "../feed/feed.js";
import { collectRecorded, freshItems, isUsable, splitItems } from "../input/ids.js";
import { readList } from "../input/list.js";
import { CLOSED, CONTENTS, GONE, misuse, misuseOfRecorded, misuseOfRoot, misuseOfServer } from "../input/misuse.js";
import { observeItems, type ObservedRoot, type ObserverSettings } from "../observer/observer.js";
import { checkOptions, type Rules } from "../input/options.js";
import { storeOf } from "../storage/choice.js";
import { clearNamespace } from "../storage/clear.js";
import type * as Api from "../types/seenguard.js";
import { Namespace, refused, type Holder } from "./namespace.js";
import { guardedFetch } from "./guarded-fetch.js";
import { CHANGES, HOOK, type Tool } from "./hook.js";
import {
  checkGuardOptions,
  checkReportOptions,
  clearRules,
  feedRules,
  fetchRules,
  flushRules,
  observeRules,
  recordRules,
  type OpenOptions,
} from "./options.js";
import { clearVerdicts, findNamespace, hold, keyedVerdicts, release } from "./registry.js";

/** How long `clear` waits for a storage that does not respond. */
const CLEAR_TIMEOUT_MS = 10_000;
/** How long `close` waits for a server that does not respond. */
const LEAVE_TIMEOUT_MS = 2_000;

/** The state of a `SeenGuard`. */
interface Handle {
  readonly holder: Holder;
  namespace: Namespace;
  isClosed: boolean;
  /** Cleanup functions that `close` runs. */
  readonly stops: Set<() => void>;
}

/** The methods of an open guard, with any engine. */
class OpenGuard implements Api.SeenGuard {
  /** A function: proxies, such as those of Vue and Alpine, wrap the objects that they find in others. */
  private readonly handle: () => Handle;

  constructor(namespace: Namespace, holder: Holder) {
    const handle: Handle = { holder, namespace, isClosed: false, stops: new Set() };
    this.handle = () => handle;
  }

  /** For calls by the app. Reports a call after `close` as misuse. */
  private namespace(): Namespace {
    const { isClosed, namespace } = this.handle();
    if (isClosed) this.tell(misuse(CLOSED));
    return namespace;
  }

  apply(snapshot: Api.Snapshot | null | undefined): Api.ApplyResult {
    const { isClosed, namespace } = this.handle();
    // A response that was requested before `close` is not misuse.
    return isClosed ? refused("closed") : namespace.apply(snapshot);
  }

  filter<T extends Api.Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: Api.IdOf<T>): T[];
  filter<T>(items: readonly T[], id?: Api.IdOf<T>): T[] {
    const { list, collected } = readList(items, id, this.tell);
    const { fresh } = this.namespace().split(collected, false);
    return freshItems(list, collected.places, fresh);
  }

  split<T extends Api.Identified>(items: readonly T[]): { fresh: T[]; seen: T[] };
  split<T>(items: readonly T[], id: Api.IdOf<T>): { fresh: T[]; seen: T[] };
  split<T>(items: readonly T[], id?: Api.IdOf<T>): { fresh: T[]; seen: T[] } {
    const { list, collected } = readList(items, id, this.tell);
    const { fresh, seen } = this.namespace().split(collected, true);
    return splitItems(list, collected.places, fresh, seen);
  }

  private recorded(ids: unknown): Api.ItemId[] {
    return collectRecorded(ids, isUsable, (value) => this.tell(misuseOfRecorded(value)));
  }

  private readonly tell = (error: SeenGuardError | undefined): void => {
    if (error) callBack(this.handle().holder.onError, error);
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
    // A process that renders on a server serves all users, so it keeps no verdicts.
    const keyed = key === undefined || rendersOnServer(opened) ? undefined : keyedVerdicts(opened.namespace);
    return openFeed({ namespace: () => handle.namespace, tell: this.tell, stops }, keyed, key);
  }

  observe(root: ObservedRoot, options: Api.ObserveOptions = {}): () => void {
    const checked = checkOptions("observe", options, observeRules) as object as Api.ObserveOptions & ObserverSettings;
    const { id, idsOf, onImpression, local, ...settings } = checked;
    const ids = id === undefined ? undefined : collectRecorded(id).map(String);
    const error = misuseOfRoot(root, ids !== undefined);
    this.tell(error);
    if (error || ids?.length === 0) return () => {};
    const { observed } = this.namespace();
    // A local record does not replace one for delivery, so they have separate keys.
    const keyOf = (shown: string) => `${String(local)} ${shown}`;
    const onDwell = (shown: string, element: Element) => {
      if (!observed.add(keyOf(shown), element, this.explain(shown).seen)) return;
      const others = collectRecorded(callBack(idsOf, shown, element)).map(String);
      this.record(new Set([shown, ...(ids ?? []), ...others]), { local });
      callBack(onImpression, shown, element);
    };
    const stop = observeItems(root, ids?.[0], settings, {
      onDwell,
      onOut: (shown) => observed.leave(keyOf(shown)),
      onContents: () => this.tell(misuse(CONTENTS)),
      onGone: () => this.tell(misuse(GONE)),
    });
    return this.untilClosed(stop);
  }

  /** Registers a cleanup function for `close`. */
  private untilClosed(stop: () => void): () => void {
    const { stops, isClosed } = this.handle();
    const stopOnce = () => {
      if (stops.delete(stopOnce)) stop();
    };
    stops.add(stopOnce);
    if (isClosed) stopOnce();
    return stopOnce;
  }

  report(options: Api.ReportOptions): () => void {
    return this.untilClosed(this.namespace().startReport(checkReportOptions(options)));
  }

  [HOOK](tool: Tool): () => void {
    return this.untilClosed(this.handle().namespace.tools.add(tool));
  }

  [CHANGES](onChange: (isClosed: boolean) => void): void {
    const { onChanges } = this.namespace();
    const listener = () => onChange(false);
    onChanges.add(listener);
    this.untilClosed(() => {
      onChanges.delete(listener);
      onChange(true);
    });
  }

  stats(): Api.GuardStats {
    return this.handle().namespace.stats();
  }

  async flush(options: Api.FlushOptions = {}): Promise<{ delivered: number; left: number }> {
    const { timeoutMs } = checkOptions("flush", options, flushRules);
    const { namespace } = this.handle();
    const [delivered] = await Promise.all([namespace.deliver(timeoutMs as number), namespace.flush()]);
    return delivered;
  }

  async close(): Promise<void> {
    const handle = this.handle();
    if (handle.isClosed) return;
    handle.isClosed = true;
    const leaving = handle.namespace.reporter?.leave();
    for (const stop of [...handle.stops]) stop();
    const { namespace, holder } = handle;
    handle.namespace = new Namespace(namespace.options, namespace.engines);
    if (leaving) await withTimeout(LEAVE_TIMEOUT_MS, leaving);
    await release(namespace, holder);
  }
}

/** The `SeenGuard` class of an entry, which runs these engines. `more`: the entry's additional options. */
export function seenGuardWith(engines: Engines, more: Rules = {}) {
  return class SeenGuard extends OpenGuard {
    static async open(options: Api.GuardOptions): Promise<SeenGuard> {
      const checked = checkGuardOptions(options, more);
      const holder = { onError: misuseOnce(checked.onError ?? warnOnce()), onLag: checked.onLag };
      const namespace = rendersOnServer(checked)
        ? namespaceForNobody(checked, engines, holder)
        : await hold(checked, engines, holder);
      return new SeenGuard(namespace, holder);
    }

    static async clear(namespace: string, storage?: Api.GuardOptions["storage"]): Promise<void> {
      checkOptions("SeenGuard.clear", { namespace, storage }, clearRules);
      const open = findNamespace(namespace);
      const store = storage === undefined && open ? open.store : storeOf(storage);
      const wallMs = (open?.clock ?? deviceClock).wallMs();
      // Called before the first `await`: impressions recorded after this point stay.
      const clearing = clearNamespace(namespace, store, () => findNamespace(namespace), wallMs);
      clearVerdicts(namespace);
      try {
        await inTime(CLEAR_TIMEOUT_MS, "the storage", clearing);
      } catch (cause) {
        throw failure("storage", "the namespace is not cleared: the storage failed", cause);
      }
    }
  };
}

export type SeenGuardClass = ReturnType<typeof seenGuardWith>;

/** Whether this is server rendering, and the app has named no storage. */
function rendersOnServer({ storage }: Api.GuardOptions): boolean {
  return storage === undefined && !isOnDevice();
}

/** For server rendering: lets everything pass, and reports misuse once in a process. */
function namespaceForNobody(options: OpenOptions, engines: Engines, { onError }: Holder): Namespace {
  const error = misuseOfServer();
  if (error) callBack(onError, error);
  return new Namespace(options, engines);
}
