/**
 * `clear` in any order with open, record, flush and close, over storages of every temper, by one page and by two that
 * share a storage. Random schedules, each repeated by its seed: every promise settles, what was recorded before a clear
 * is gone once that has resolved, and what was recorded after it is kept. Of snapshots, none from before it is held
 * again.
 */
import type { SeenGuard, SeenStorage } from "seenguard";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { shardOf } from "../support/shards.js";
import { heldBy, newPage, type Package, Random, settled } from "../support/node.js";

const NAMESPACE = "home:reader";
/** By when any promise of the API must have settled. */
const PATIENCE_MS = 30_000;
const STEPS = 14;

type Temper = "quick" | "slow" | "silent" | "failing";

/** Anything may be thrown. */
const THROWN: readonly unknown[] = [
  new Error("no disk"),
  undefined,
  null,
  Symbol("no"),
  Object.create(null),
  Object.defineProperty({}, "name", {
    get() {
      throw new Error("not for you");
    },
  }),
];

/** A storage that pages share, with a temper until it is healed. */
class Disk {
  readonly values = new Map<string, string>();
  private temper: Temper;
  private readonly random: Random;

  constructor(temper: Temper, random: Random) {
    this.temper = temper;
    this.random = random;
  }

  heal(): void {
    this.temper = "quick";
  }

  /** What one page sees of it. */
  face(): SeenStorage {
    const act = <T>(change: () => T): T | Promise<T> => this.act(change);
    return {
      get: (key) => act(() => this.values.get(key)),
      set: (key, value) => act(() => void this.values.set(key, value)),
      remove: (key) => act(() => void this.values.delete(key)),
      keys: () => act(() => [...this.values.keys()]),
    };
  }

  private act<T>(change: () => T): T | Promise<T> {
    const { random, temper } = this;
    if (temper === "quick") return change();
    if (temper === "failing" && random.next() < 0.15) {
      const thrown = random.pick(THROWN);
      if (random.next() < 0.5) return Promise.reject(thrown);
      throw thrown;
    }
    const isSilent = temper === "silent" && random.next() < 0.1;
    const [before, after] = [isSilent ? random.below(6_000) : random.below(8), random.below(8)];
    return new Promise((resolve) => {
      setTimeout(() => {
        const result = change();
        setTimeout(() => resolve(result), after);
      }, before);
    });
  }
}

interface Recording {
  readonly id: string;
  readonly page: number;
  readonly at: number;
  /** When its page's guard was asked to open: one that is opened while it closes goes on. */
  readonly openedAt: number;
}

/** A snapshot of one shard that was applied. */
interface Applied {
  readonly held: string;
  readonly page: number;
  readonly at: number;
}

interface Clearing {
  readonly page: number;
  readonly calledAt: number;
  readonly calledAtMs: number;
  resolvedAt?: number;
  settled?: boolean;
}

/** One run: pages that do things at random, and what they did. */
class Run {
  readonly random: Random;
  readonly disk: Disk;
  readonly recordings: Recording[] = [];
  readonly clearings: Clearing[] = [];
  readonly applied: Applied[] = [];
  private readonly pages: (Package & { readonly storage: SeenStorage })[];
  private readonly guards: ({ guard: SeenGuard; openedAt: number } | undefined)[] = [];
  private readonly opening: boolean[] = [];
  /** When those that are closing were opened. */
  private readonly closing: (number | undefined)[] = [];
  private readonly pending = new Set<{ readonly what: string; readonly sinceMs: number }>();
  private readonly temper: Temper;
  private now = 0;

  constructor(seed: number, temper: Temper, pages: readonly Package[]) {
    this.random = new Random(seed);
    this.disk = new Disk(temper, this.random);
    this.pages = pages.map((page) => ({ ...page, storage: this.disk.face() }));
    this.temper = temper;
  }

  /** The time of what happens next: no two things happen within a millisecond. */
  private async tick(): Promise<number> {
    this.now++;
    await vi.advanceTimersByTimeAsync(2);
    return this.now;
  }

  async go(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      await this.tick();
      this.step(this.random.below(this.pages.length));
      if (this.random.next() < 0.3) await vi.advanceTimersByTimeAsync(this.random.below(200));
      if (this.random.next() < 0.1) await vi.advanceTimersByTimeAsync(3_000);
    }
  }

  private step(page: number): void {
    const open = this.guards[page];
    const dice = this.random.next();
    if (dice < 0.25) this.clear(page);
    else if (!open) void this.open(page);
    else if (dice < 0.65) this.record(page, open);
    else if (dice < 0.75) this.apply(page, open);
    else if (dice < 0.85) void this.watch("flush", open.guard.flush());
    else if (this.temper === "quick" || this.temper === "slow") {
      // What a page that closes could not write is lost.
      this.guards[page] = undefined;
      this.closing[page] = open.openedAt;
      void this.watch("close", open.guard.close()).then(() => (this.closing[page] = undefined));
    }
  }

  private at(page: number): Package & { readonly storage: SeenStorage } {
    const found = this.pages[page];
    if (!found) throw new Error("there is no such page");
    return found;
  }

  private async open(page: number): Promise<void> {
    if (this.opening[page]) return;
    this.opening[page] = true;
    const openedAt = this.closing[page] ?? this.now;
    const { SeenGuard, storage } = this.at(page);
    const opening = SeenGuard.open({ namespace: NAMESPACE, storage, onError: () => undefined });
    const guard = await this.watch("open", opening);
    this.guards[page] = { guard, openedAt };
    this.opening[page] = false;
  }

  private record(page: number, { guard, openedAt }: { guard: SeenGuard; openedAt: number }): void {
    const id = `id-${String(this.recordings.length)}`;
    guard.record(id);
    expect(guard.explain(id).seen).toBe(true);
    this.recordings.push({ id, page, at: this.now, openedAt });
  }

  private apply(page: number, { guard }: { guard: SeenGuard }): void {
    expect(guard.apply({ shards: [shardOf({ epoch: this.applied.length + 1 })] })).toMatchObject({ applied: true });
    this.applied.push({ held: heldBy(guard), page, at: this.now });
  }

  private clear(page: number): void {
    const clearing: Clearing = { page, calledAt: this.now, calledAtMs: Date.now() };
    this.clearings.push(clearing);
    const { SeenGuard, storage } = this.at(page);
    // By another name of the same storage now and then.
    const named = this.random.next() < 0.7 ? storage : this.disk.face();
    this.watch("clear", SeenGuard.clear(NAMESPACE, named)).then(
      () => {
        clearing.settled = true;
        clearing.resolvedAt = this.now;
        this.expectGone(page, clearing);
      },
      () => (clearing.settled = true),
    );
  }

  /** In the document that cleared, at once. */
  private expectGone(page: number, { calledAt }: Clearing): void {
    const open = this.guards[page];
    const gone = this.recordings.filter((recording) => recording.at < calledAt).map(({ id }) => id);
    const kept = this.recordings.filter((recording) => recording.page === page && recording.at > calledAt);
    if (!open || open.openedAt > calledAt) return;
    expect(open.guard.filter(gone)).toEqual(gone);
    if (this.clearings.some((other) => other.page !== page || other.calledAt > calledAt)) return;
    expect(open.guard.filter(kept.map(({ id }) => id))).toEqual([]);
  }

  private async watch<T>(what: string, work: Promise<T>): Promise<T> {
    const entry = { what, sinceMs: Date.now() };
    this.pending.add(entry);
    try {
      return await work;
    } finally {
      this.pending.delete(entry);
      expect(Date.now() - entry.sinceMs, what).toBeLessThan(PATIENCE_MS);
    }
  }

  /** Heals the storage and lets everything end. Returns the ids that a later visit stops, and what it holds. */
  async end(): Promise<{ readonly ids: Set<string>; readonly held: string }> {
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    expect([...this.pending].map(({ what }) => what)).toEqual([]);
    this.disk.heal();
    await vi.advanceTimersByTimeAsync(120_000);
    for (const open of this.guards) {
      await this.inTime(open?.guard.flush());
      await this.inTime(open?.guard.close());
    }
    const { SeenGuard } = await readyPage();
    const opening = SeenGuard.open({ namespace: NAMESPACE, storage: this.disk.face() });
    await this.inTime(opening);
    const guard = await opening;
    const ids = this.recordings.map(({ id }) => id);
    const [fresh, held] = [new Set(guard.filter(ids)), heldBy(guard)];
    await this.inTime(guard.close());
    return { ids: new Set(ids.filter((id) => !fresh.has(id))), held };
  }

  private async inTime(work: Promise<unknown> | undefined): Promise<void> {
    const state = { isDone: work === undefined };
    void work?.then(() => (state.isDone = true));
    for (let round = 0; !state.isDone; round++) {
      expect(round).toBeLessThan(PATIENCE_MS / 100);
      await vi.advanceTimersByTimeAsync(100);
    }
  }

  /** Whether a later visit may hold it. */
  mayBeHeld({ at }: Applied): boolean {
    return !this.clearings.some(({ calledAt, resolvedAt }) => calledAt > at && resolvedAt !== undefined);
  }

  /** What must be so in a later visit. `undefined`: either. */
  mustBeKept({ at, page, openedAt }: Recording): boolean | undefined {
    const later = this.clearings.filter(({ calledAt }) => calledAt > at);
    // A clear of this page that is under way takes a number above another's that comes meanwhile, and keeps what the
    // page has recorded since its own call.
    const isOvertaken = (other: Clearing) =>
      other.page !== page &&
      this.clearings.some(
        (own) => own.page === page && own.calledAt < at && (own.resolvedAt ?? Infinity) > other.calledAt,
      );
    if (later.some((other) => other.resolvedAt !== undefined && !isOvertaken(other))) return false;
    // What a page records before it has heard of another's clear goes, too: with no localStorage it hears of it at its
    // next look.
    const answers = this.temper === "quick" || this.temper === "slow";
    const mayNotKnow = this.clearings.some(
      (other) => other.page !== page && other.calledAt < at && !(answers && (other.resolvedAt ?? Infinity) < openedAt),
    );
    return later.length > 0 || mayNotKnow ? undefined : true;
  }
}

/** A page that has its engine: compiling it takes real time, and the time of these tests is not. */
async function readyPage(): Promise<Package> {
  const page = newPage();
  const guard = await page.SeenGuard.open({ namespace: "ready", storage: "none" });
  await guard.close();
  return page;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"], now: 1_764_000_000_000 });
});

afterEach(async () => {
  vi.useRealTimers();
  await settled();
});

describe.each(["quick", "slow", "silent", "failing"] as const)("over a storage that is %s", (temper) => {
  test.each([1, 2])(`i5: %i page(s) clear at any time`, { timeout: 300_000 }, async (pages) => {
    const seeds = Number(process.env.CLEAR_SEEDS ?? 60);
    const first = Number(process.env.CLEAR_FIRST_SEED ?? 0);
    let [kept, gone, held, notHeld] = [0, 0, 0, 0];
    for (let seed = first; seed < first + seeds; seed++) {
      const run = new Run(seed, temper, await Promise.all(Array.from({ length: pages }, readyPage)));
      await run.go();
      const remembered = await run.end();
      for (const recording of run.recordings) {
        const must = run.mustBeKept(recording);
        if (must === undefined) continue;
        const told = `seed ${String(seed)}: ${JSON.stringify(recording)}; ${JSON.stringify(run.clearings)}`;
        expect(remembered.ids.has(recording.id), told).toBe(must);
        if (must) kept++;
        else gone++;
      }
      const found = run.applied.find((applied) => applied.held === remembered.held);
      expect(found === undefined).toBe(remembered.held === "");
      if (found) {
        expect(run.mayBeHeld(found), `seed ${String(seed)}: ${JSON.stringify([found, run.clearings])}`).toBe(true);
        held++;
      }
      notHeld += run.applied.filter((applied) => !run.mayBeHeld(applied)).length;
    }
    // The schedules are such that both happen.
    expect(Math.min(kept, gone)).toBeGreaterThan(seeds / 6);
    expect(Math.min(held, notHeld)).toBeGreaterThan(0);
  });
});
