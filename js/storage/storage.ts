/**
 * The storage of one namespace for one impression table: a bag of rows, which merge in any order, any number of times.
 *
 * - **load** merges the stashes, and the rows that were not read before: loader.ts.
 * - **save** writes unsaved changes as a row, under a new key: saver.ts.
 * - **compact** merges small rows into few: compaction.ts.
 * - **clean** removes unused namespaces: cleaning.ts.
 *
 * Saves run one after the other in one queue, loads and compactions in another.
 */
import type { EngineGuard } from "../engine/engine-guard.js";
import { isHidden, listen, type Clock } from "../platform/host.js";
import type { GuardStats } from "../types/seenguard.js";
import { cleanOthers } from "./cleaning.js";
import { Compaction } from "./compaction.js";
import { isQuotaError, StorageContext, type Listeners } from "./context.js";
import { generationIn, SIGNAL } from "./keys.js";
import { Loader } from "./loader.js";
import type { Store } from "./port.js";
import { Saver } from "./saver.js";
import { Snapshots, type LatestSnapshot } from "./snapshots.js";

/** The delay from `open` until maintenance: saving facts, compacting, cleaning. */
const MAINTENANCE_MS = 2_000;
/** The delay from `open` until impressions of earlier visits are delivered: at random this to twice as long. */
const FOUND_MS = 5_000;
const DAY_MS = 86_400_000;

export class NamespaceStorage {
  readonly context: StorageContext;
  private readonly compaction: Compaction;
  readonly snapshots: Snapshots;
  readonly saver: Saver;
  readonly loader: Loader;
  private readonly stopListening: () => void;
  private ended = (): void => {};
  private readonly end = new Promise<void>((resolve) => (this.ended = resolve));
  /** Whether impressions of earlier visits may be delivered. */
  private isFoundDue = false;

  /** Starts the first load. `generation`: that of the latest clear that the document knows. */
  constructor(store: Store, name: string, generation: number, clock: Clock, listeners: Listeners) {
    const context = new StorageContext(store, name, generation, clock, listeners);
    this.context = context;
    this.compaction = new Compaction(context);
    this.snapshots = new Snapshots(context);
    this.saver = new Saver(context, this.compaction, this.snapshots);
    this.stopListening = this.listen();
    this.loader = new Loader(context, this.saver, this.snapshots);
  }

  private listen(): () => void {
    const { context } = this;
    const { timers } = context;
    const stopPage = listen(["pagehide", "pageshow", "visibilitychange", "resume"], ({ type }) => {
      context.readSignal();
      if (type === "pagehide" || isHidden()) {
        timers.pause();
        this.saver.hide();
      } else if (!timers.areRunning) {
        timers.resume();
        void this.loader.load();
        this.saver.show();
      }
    });
    const stopStorage = listen(["storage"], (event) => {
      const { key, newValue, oldValue } = event as StorageEvent;
      if (key !== SIGNAL + context.name) return;
      context.readSignal();
      context.learn(Math.max(...[newValue, oldValue].map((value) => generationIn(value) ?? 0)));
      if (!isHidden()) void this.loader.load();
    });
    return () => [stopPage, stopStorage].forEach((stop) => stop());
  }

  /** The engine is loaded. */
  attach(engine: EngineGuard, snapshot: LatestSnapshot): void {
    this.snapshots.latest = snapshot;
    this.context.attach(engine);
  }

  /** `open` stops waiting for the first load. */
  opened(): void {
    this.loader.mergeFirstStashes();
    const { timers } = this.context;
    timers.after(MAINTENANCE_MS, () => void this.loader.first.then(() => this.maintain()));
    timers.after(FOUND_MS * (1 + Math.random()), () => this.deliverFound());
  }

  private deliverFound(): void {
    void this.loader.load().then(() => {
      this.isFoundDue = !this.loader.retry.isFailing;
      if (!this.isFoundDue) this.context.timers.after(FOUND_MS, () => this.deliverFound());
    });
  }

  private maintain(): void {
    const { context, loader } = this;
    if (context.isEnded()) return;
    this.saver.saveFacts();
    this.compaction.runLater();
    const isFirstToday = Math.floor(loader.lastUseMs / DAY_MS) < Math.floor(context.clock.wallMs() / DAY_MS);
    // A failure is repeated on another day.
    if (isFirstToday && !loader.retry.isFailing) cleanOthers(context).catch(() => {});
  }

  /** Stops. Writes in progress complete. */
  stop(): void {
    if (this.context.isEnded()) return;
    this.saver.writeStash(true);
    this.context.stop();
    this.stopListening();
    this.ended();
  }

  /** The kind of storage in use, or its failure. */
  get state(): GuardStats["storage"] {
    const [saves, loads] = [this.saver.retry, this.loader.retry];
    if (saves.isFailing && isQuotaError(saves.cause)) return "full";
    return saves.isFailing || loads.isFailing ? "unavailable" : this.context.store.kind;
  }

  get deliversFound(): boolean {
    return this.isFoundDue && !isHidden();
  }

  /** Adopts a generation if it is higher: memory is cleared, except, if `keeps`, the tab's own recordings. */
  learn(generation: number, keeps: boolean): void {
    if (this.context.learn(generation, keeps)) this.saver.changed();
  }

  /** Resolves when everything recorded so far is stored, or storing it has failed. */
  async flush(): Promise<void> {
    await Promise.race([this.end, this.loader.first.then(() => this.saver.flush())]);
  }
}
