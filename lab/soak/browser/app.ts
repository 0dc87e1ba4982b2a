/** The app in each tab: a feed with a guard, whose methods the soak calls. It logs its recordings with their times. */
import { machineMs, wasmBytes } from "./page-clock.ts";
import { SeenGuard, type Feed } from "seenguard";
import { Calls, type LongTask } from "./app-calls.ts";
import { fillStorage, freeStorage, storedKeys } from "./app-storage.ts";

/** A recorded or unseen id, at some virtual time between the two. */
export interface Entry {
  readonly kind: "seen" | "unseen";
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

/** The result of an action. */
export interface Note<T> {
  readonly result: T;
  /** New entries of the log since the last note. */
  readonly entries: readonly Entry[];
  /** The number of the visit's entries that are in storage. */
  readonly durable: number;
  readonly longTasks: readonly LongTask[];
  /** Codes and messages of `onError`, and of exceptions. */
  readonly errors: readonly string[];
}

/** Shown items, at some virtual time between the two. */
export interface Shown {
  readonly ids: readonly string[];
  readonly from: number;
  readonly to: number;
  /** The number of items that no request had returned before, and of those that the guard stops. */
  readonly first: number;
  readonly firstStopped: number;
}

export interface Opened {
  readonly openMs: number;
  /** The time of a fixed amount of work right after it, which measures the machine's current speed. */
  readonly referenceMs: number;
}

export interface Measured {
  readonly wasm: number;
  /** The storage keys of all namespaces, and the number of characters of keys and values. */
  readonly keys: readonly string[];
  readonly characters: number;
  /** The origin's usage by `navigator.storage.estimate`. */
  readonly usage: number;
}

export interface Settings {
  readonly user: string;
  readonly windowDays: number;
}

interface Item {
  readonly id: string;
  /** Whether no request had returned it before. */
  readonly first: boolean;
}

const DWELL_MS = 200;
const REPORT_MS = 1000;
const WANT = 10;
const list = document.body.appendChild(document.createElement("main"));

const nothing: Shown = { ids: [], from: 0, to: 0, first: 0, firstStopped: 0 };

class App {
  private readonly calls = new Calls();
  private readonly errors: string[] = [];
  private log: Entry[] = [];
  /** The number of entries removed from the log, and of those in storage. */
  private taken = 0;
  private durable = 0;
  private user = "";
  private guard: SeenGuard | undefined;
  private feed: Feed | undefined;
  private stopObserving: () => void = () => {};
  /** The items of the last refresh, and the number of those read. */
  private items: readonly Item[] = [];
  private displayed: readonly string[] = [];
  private read = 0;

  constructor() {
    addEventListener("error", ({ message }) => this.errors.push(`exception: ${message}`));
    addEventListener("unhandledrejection", ({ reason }) => this.errors.push(`rejection: ${String(reason)}`));
  }

  async open({ user, windowDays }: Settings): Promise<Note<Opened>> {
    this.user = user;
    const onError = ({ code, message }: { code: string; message: string }) => this.errors.push(`${code}: ${message}`);
    const start = machineMs();
    const guard = await this.calls.time("open", () => SeenGuard.open({ namespace: user, windowDays, onError }));
    const openMs = machineMs() - start;
    const referenceMs = await reference();
    guard.report({ url: `/api/users/${user}/impressions`, intervalMs: REPORT_MS });
    const onImpression = (id: string) => this.note("seen", [id], Date.now());
    this.stopObserving = guard.observe(list, { dwellMs: DWELL_MS, onImpression });
    [this.guard, this.feed] = [guard, guard.feed()];
    [this.log, this.taken, this.durable] = [[], 0, 0];
    return this.settle({ openMs, referenceMs });
  }

  /** Refreshes: requests pages until enough items are fresh. */
  async refresh(withPending: boolean): Promise<Note<Shown>> {
    const { guard, feed } = this;
    if (!guard || !feed) return this.settle(nothing);
    feed.reset();
    const items: Item[] = [];
    const from = Date.now();
    const result = await this.calls.time("fill", () =>
      feed.fill<Item>(async ({ cursor, headers: sent, signal }) => {
        const url = `/api/users/${this.user}/feed?cursor=${String(cursor ?? "")}`;
        const headers = { ...sent, ...(!withPending && { "Seen-Pending": "" }) };
        const page = (await (await fetch(url, { headers, signal })).json()) as { items: Item[] };
        items.push(...page.items);
        return page;
      }, WANT),
    );
    const to = Date.now();
    const first = items.filter((item) => item.first);
    const firstStopped = first.filter(({ id }) => guard.explain(id).seen).length;
    this.items = items;
    this.display(result.items.map(({ id }) => id));
    return this.settle({ ids: this.displayed, from, to, first: first.length, firstStopped });
  }

  /** Shows a cached page again. */
  async again(): Promise<Note<Shown>> {
    const from = Date.now();
    const ids = this.calls.run("filter", () => this.guard?.filter(this.items) ?? []).map(({ id }) => id);
    return this.settle({ ...nothing, ids, from, to: Date.now() });
  }

  /** Returns the ids that pass the guard. */
  async passing(all: readonly string[]): Promise<Note<Shown>> {
    const from = Date.now();
    const ids = this.guard?.filter(all) ?? [];
    return this.settle({ ...nothing, ids, from, to: Date.now() });
  }

  /** Opens some of the displayed items, which records them at once. */
  async look(count: number): Promise<Note<null>> {
    const ids = this.displayed.slice(this.read, this.read + count);
    this.read += ids.length;
    const from = Date.now();
    this.calls.run("record", () => this.guard?.record(ids));
    this.note("seen", ids, from);
    return this.settle(null);
  }

  scroll(): Promise<Note<null>> {
    list.scrollBy(0, 3 * (list.firstElementChild?.clientHeight ?? 0));
    return this.settle(null);
  }

  async unsee(id: string): Promise<Note<null>> {
    const from = Date.now();
    this.calls.run("unsee", () => this.guard?.unsee(id));
    this.note("unseen", [id], from);
    return this.settle(null);
  }

  /** Records many ids at once, as after weeks of use. */
  async fill(ids: readonly string[]): Promise<Note<null>> {
    const from = Date.now();
    this.guard?.record(ids);
    this.note("seen", ids, from);
    await this.guard?.flush();
    return this.settle(null);
  }

  /** Removes the list, so that nothing more is recorded. */
  stopReading(): Promise<Note<null>> {
    this.stopObserving();
    this.display([]);
    return this.settle(null);
  }

  async leave(): Promise<Note<null>> {
    this.stopObserving();
    this.display([]);
    const note = await this.settle(null);
    await this.guard?.close();
    this.guard = undefined;
    return note;
  }

  /** Delivers the pending impressions and clears the user's data. Returns the virtual times around the clear. */
  async signOut(): Promise<Note<{ from: number; to: number }>> {
    this.stopObserving();
    this.display([]);
    await this.guard?.flush();
    const from = Date.now();
    await this.calls.time("clear", () => SeenGuard.clear(this.user));
    const to = Date.now();
    const note = await this.settle({ from, to });
    await this.guard?.close();
    this.guard = undefined;
    return note;
  }

  async deliver(): Promise<Note<{ delivered: number; left: number }>> {
    return this.settle((await this.guard?.deliver({ timeoutMs: 20_000 })) ?? { delivered: 0, left: 0 });
  }

  async measure(): Promise<Note<Measured | null>> {
    if (!this.guard) return this.settle(null);
    const { usage = 0 } = await navigator.storage.estimate();
    return this.settle({ wasm: wasmBytes(), ...(await storedKeys()), usage });
  }

  fillStorage = fillStorage;
  freeStorage = freeStorage;

  private display(ids: readonly string[]): void {
    this.displayed = ids;
    this.read = 0;
    list.replaceChildren(
      ...ids.map((id) => {
        const article = document.createElement("article");
        article.dataset.seenId = id;
        article.textContent = id;
        return article;
      }),
    );
    list.scrollTo(0, 0);
  }

  private note(kind: Entry["kind"], ids: readonly string[], from: number): void {
    const to = Date.now();
    this.log.push(...ids.map((id) => ({ kind, id, from, to })));
  }

  private async settle<T>(result: T): Promise<Note<T>> {
    const count = this.taken + this.log.length;
    await this.calls.time("flush", async () => this.guard?.flush());
    if (this.guard?.stats().storage === "indexeddb") this.durable = count;
    const entries = this.log;
    this.taken += entries.length;
    this.log = [];
    const errors = this.errors.splice(0);
    return { result, entries, durable: this.durable, longTasks: this.calls.takeLongTasks(), errors };
  }
}

/** Reads half a megabyte from a database of the app's own, and parses it. */
async function reference(): Promise<number> {
  const start = machineMs();
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open("reference");
    opening.onupgradeneeded = () => {
      const values = Array.from({ length: 20_000 }, (_, number) => `a value of the reference, ${String(number)}`);
      opening.result.createObjectStore("texts").put(JSON.stringify(values), "text");
    };
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(new Error("the reference database cannot be read"));
  });
  const text = await new Promise<string>((resolve, reject) => {
    const reading = database.transaction("texts").objectStore("texts").get("text");
    reading.onsuccess = () => resolve(reading.result as string);
    reading.onerror = () => reject(new Error("the reference database cannot be read"));
  });
  JSON.parse(text);
  database.close();
  return machineMs() - start;
}

export type { App };
Object.assign(globalThis, { app: new App() });
