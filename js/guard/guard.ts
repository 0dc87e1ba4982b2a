/** `SeenGuard`: one holder's view of a namespace. */
import { idsOf, textOf } from "../answer.js";
import { PENDING, PENDING_SHARD } from "../asked.js";
import { GuardCore, refused, type Holder } from "./core.js";
import type { WasmSource } from "../engine/engine.js";
import { callBack, failure, refuse, warnOncePerCode } from "../errors.js";
import { Feed } from "../feed/feed.js";
import { collectIds, collectRecorded, freshItems, isUsable, listOf } from "../ids.js";
import { observeBelow, observeElement } from "../observer/observer.js";
import { checkGuardOptions, checkObserveOptions, checkPlace, checkReportOptions } from "../options.js";
import { findCore, hold, release } from "./registry.js";
import type * as Api from "../types/seenguard.js";
import { removeBell, ringBell } from "../storage/cross-tab-signal.js";
import { bellKey, prefixOf } from "../storage/keys.js";
import { clearNamespace } from "../storage/persistence.js";
import { openStore, placesOf, type Place } from "../storage/store.js";
import { within } from "../timeouts.js";

type Identified = Api.ItemId | { readonly id: Api.ItemId };

/** Most ids that `pending` returns if nobody says otherwise: all of them. */
const ALL = 2 ** 32 - 1;
/** How long `close` waits for a storage that does not answer. */
const CLOSE_PATIENCE_MS = 2_000;

export class SeenGuard implements Api.SeenGuard {
  readonly #holder: Holder;
  #core: GuardCore;
  #closed = false;
  readonly #stops = new Set<() => void>();

  private constructor(core: GuardCore, holder: Holder) {
    this.#core = core;
    this.#holder = holder;
  }

  static async open(options: Api.GuardOptions & { wasm?: WasmSource }): Promise<SeenGuard> {
    const checked = checkGuardOptions(options);
    const holder = { onError: checked.onError ?? warnOncePerCode(), onLag: checked.onLag };
    // Rendering on a server: there is no screen, and nobody to remember it for.
    const isServer = typeof document === "undefined" && checked.storage === undefined;
    const core = isServer ? new GuardCore(checked) : await hold(checked, holder);
    // The first to go on is whoever waits for this.
    queueMicrotask(() => core.settle());
    return new SeenGuard(core, holder);
  }

  static async clear(namespace: string, storage?: Api.GuardOptions["storage"]): Promise<void> {
    checkPlace(namespace, storage);
    const core = findCore(namespace);
    const places = placesOf(storage);
    const clearElsewhere = async () => {
      for (const place of places) {
        if (!core?.isKeptIn(place)) await clearStore(namespace, place, places.length > 1);
      }
    };
    await (core?.clear(clearElsewhere) ?? clearElsewhere()).catch((cause: unknown) => {
      throw failure("storage", "the namespace is not cleared: the storage failed", cause);
    });
    const bell = bellKey(namespace);
    ringBell(bell);
    removeBell(bell);
  }

  apply(snapshot: Api.Snapshot | null | undefined): Api.ApplyReport {
    return this.#closed ? refused("closed") : this.#core.apply(snapshot);
  }

  filter<T extends Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: Api.IdOf<T>): T[];
  filter<T>(items: readonly T[], id?: Api.IdOf<T>): T[] {
    const list = listOf(items);
    const { ids, places } = collectIds(list, id);
    const fresh = this.freshOf(ids, list.length - ids.length);
    return freshItems(list, places, fresh);
  }

  /** The indices of the fresh ids, of equal ones the first. For feeds; never throws. */
  freshOf(ids: readonly Api.ItemId[], withoutId = 0): ArrayLike<number> & Iterable<number> {
    return this.#core.fresh(ids, withoutId) ?? firstOfEach(ids);
  }

  has(id: Api.ItemId): boolean {
    return this.explain(id).seen;
  }

  explain(id: Api.ItemId): Api.Explanation {
    return isUsable(id) ? this.#core.explain(id) : { seen: false };
  }

  record(ids: Api.ItemId | Iterable<Api.ItemId>): number {
    return this.#core.record(collectRecorded(ids));
  }

  pending(limit?: number): string[] {
    const most = typeof limit === "number" && limit >= 0 ? Math.min(limit, ALL) : ALL;
    return idsOf(this.#core.ask(PENDING, [], most)).map(([id]) => id);
  }

  pendingShard(): string {
    return textOf(this.#core.ask(PENDING_SHARD));
  }

  feed(): Feed {
    return new Feed(this, (error) => callBack(this.#holder.onError, error));
  }

  observe(root: Element, options: Api.ObserveOptions = {}): () => void {
    const settings = checkObserveOptions(options);
    checkElement(root, "observe");
    return this.#until(observeBelow(root, settings, this.#recorder(settings)));
  }

  track(element: Element, id: Api.ItemId, options: Api.ObserveOptions = {}): () => void {
    const settings = checkObserveOptions(options);
    checkElement(element, "track");
    if (!isUsable(id)) return () => {};
    return this.#until(observeElement(element, String(id), settings, this.#recorder(settings)));
  }

  #recorder({ onImpression }: Api.ObserveOptions): (id: string, element: Element) => void {
    return (id, element) => {
      this.record(id);
      callBack(onImpression, id, element);
    };
  }

  /** Remembers what `close` has to stop. */
  #until(stop: () => void): () => void {
    const stopOnce = () => {
      if (this.#stops.delete(stopOnce)) stop();
    };
    this.#stops.add(stopOnce);
    if (this.#closed) stopOnce();
    return stopOnce;
  }

  report(options: Api.ReportOptions): () => void {
    return this.#until(this.#core.addReporter(checkReportOptions(options)));
  }

  stats(): Api.GuardStats {
    return this.#core.stats();
  }

  get version(): number | undefined {
    return this.#core.version;
  }

  flush(): Promise<void> {
    return this.#core.flush();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const stop of [...this.#stops]) stop();
    const core = this.#core;
    this.#core = new GuardCore(core.options);
    await within(CLOSE_PATIENCE_MS, release(core, this.#holder));
  }
}

/** Clears a namespace where no guard of this document keeps it. What cannot be reached holds nothing that could be cleared. */
async function clearStore(namespace: string, place: Place, onlyIfUsed: boolean): Promise<void> {
  const { store, keys = [] } = await openStore([place]);
  const prefix = prefixOf(namespace);
  if (onlyIfUsed && !keys.some((key) => key.startsWith(prefix))) return;
  if (store) await clearNamespace(store, prefix);
}

/** An element of another document, such as a frame's, is none of this document's class Element. */
function checkElement(element: unknown, method: string): void {
  if (typeof document !== "undefined" && (element as Partial<Node> | null | undefined)?.nodeType !== 1)
    refuse(`${method} takes an element`);
}

/** Everything passes, a duplicate id once. */
function firstOfEach(ids: readonly Api.ItemId[]): number[] {
  const known = new Set<string>();
  return [...ids.keys()].filter((index) => known.size < known.add(String(ids[index])).size);
}
