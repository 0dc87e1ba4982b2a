/** `seenguard/server/testing`: the promises of every store, over any backend. */
import type { Page, ReceivedReport, Report, SeenStore, StoreOptions } from "../types/server.js";
import type { MakeStore, Promised } from "../types/server-testing.js";

/** The time at which a test begins, Unix seconds. */
const START = 1_764_000_000;
const NAMESPACE = "home";
/** For each id the low 24 bits of its XXH64, in base64, as in a pending list. */
const LISTED = { a: "jG5b", "1r8bq8r7q4izgx": "Dn4S" };
const OTHER = "1r8bq8r7q4izgx";

/** A store whose clock the test sets. */
class Clocked {
  private readonly store: SeenStore;
  private readonly clock: { now: number };

  private constructor(store: SeenStore, clock: { now: number }) {
    this.store = store;
    this.clock = clock;
  }

  static async open(make: MakeStore, name: string, options: StoreOptions): Promise<Clocked> {
    const clock = { now: START };
    return new Clocked(await make(name, { ...options, clock: () => clock.now }), clock);
  }

  at(seconds: number): SeenStore {
    this.clock.now = START + seconds;
    return this.store;
  }

  async page(seconds: number, ranked: readonly string[], pending?: string, user = "ada"): Promise<string[]> {
    const page: Page<string> = await this.at(seconds).page(user, ranked, { size: 10, pending });
    if (page.degraded) throw new Error("the page is degraded");
    return page.items;
  }

  record(seconds: number, ids: string | string[], user = "ada"): Promise<number> {
    return this.at(seconds).update(user, (chain, now) => chain.record(ids, { now }));
  }
}

type Test = (open: (options?: StoreOptions) => Promise<Clocked>) => Promise<void>;

/** Throws unless both are the same JSON. */
function same(found: unknown, wanted: unknown): void {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`expected ${String(other)}, got ${String(one)}`);
}

/** The pending list of a device. */
function pendingOf(device: number, counter: number, ...ids: (keyof typeof LISTED)[]): string {
  return `${String(device).padStart(12, "1")}.${String(counter)}.0.${ids.map((id) => LISTED[id]).join("")}`;
}

/** A report of impressions that were made `agoSeconds` before it. */
function report(ids: readonly string[], pending?: string, agoSeconds = 0): Report {
  const now = START * 1000;
  const impressions = ids.map((id) => ({ id, at: now - agoSeconds * 1000 }));
  return { namespace: NAMESPACE, now, impressions, ...(pending !== undefined && { pending }) };
}

const tests: Record<string, Test> = {
  "what is recorded is left out of the user's pages": async (open) => {
    const store = await open();
    await store.record(0, ["b", "d"]);
    await store.record(0, "a", "bob");
    same(await store.page(1, ["a", "b", "c", "d"]), ["a", "c"]);
    same(await store.page(1, ["a", "b", "c", "d"], undefined, "bob"), ["b", "c", "d"]);
    same(await store.page(1, ["a"], undefined, "eve"), ["a"]);
  },

  "a report counts once, however often it comes": async (open) => {
    const store = await open();
    const received = await store.at(0).accept("ada", report(["a", "é", "b"]));
    same(await store.at(1).ingest("ada", received), 3);
    same(await store.at(60).ingest("ada", JSON.parse(JSON.stringify(received)) as ReceivedReport), 0);
    same(await store.page(60, ["a", "é", "b", "c"]), ["c"]);
  },

  "a device's pending list counts for the user's other devices": async (open) => {
    const store = await open();
    same(await store.page(0, ["a", "c"], pendingOf(1, 1, "a")), ["c"]);
    same(await store.page(1, ["a", "c"], pendingOf(2, 1)), ["c"]);
    same(await store.page(1, ["a", "c"], undefined, "bob"), ["a", "c"]);
    await store.at(2).accept("ada", report([OTHER], pendingOf(2, 2, OTHER)));
    same(await store.page(3, ["a", OTHER, "c"]), ["c"]);
    // They are not in the chain.
    const chain = await store.at(3).read("ada");
    same([chain.has("a"), chain.has(OTHER)], [false, false]);
    chain.free();
  },

  "of a device's lists the latest counts, whenever it arrives": async (open) => {
    const store = await open();
    await store.page(0, [], pendingOf(1, 2, OTHER));
    await store.page(1, [], pendingOf(1, 1, "a"));
    same(await store.page(2, ["a", OTHER]), ["a"]);
    await store.page(3, [], pendingOf(1, 3));
    await store.page(4, [], pendingOf(1, 2, OTHER));
    same(await store.page(5, ["a", OTHER]), ["a", OTHER]);
  },

  "of more than eight devices the latest count": async (open) => {
    const store = await open();
    for (let device = 0; device < 10; device++)
      await store.page(device, [], pendingOf(device, 1, device < 2 ? "a" : OTHER));
    same(await store.page(20, ["a", OTHER]), ["a"]);
  },

  "a pending list counts for a while after its last change": async (open) => {
    const store = await open({ pendingSeconds: 600 });
    await store.page(0, [], pendingOf(1, 1, "a"));
    same(await store.page(600, ["a"]), []);
    same(await store.page(601, ["a"]), ["a"]);
  },

  "impressions of a report without a usable list are left out of pages": async (open) => {
    const store = await open();
    await store.at(0).accept("ada", report(["x"]));
    await store.at(1).accept("ada", report(["y"], "what is this"));
    same(await store.page(2, ["x", "y", "z"]), ["z"]);
    for (let device = 0; device < 10; device++) await store.page(device, [], pendingOf(device, 1, OTHER));
    same(await store.page(20, ["x", "y", "z"]), ["z"]);
  },

  "an impression from before a deletion changes nothing, however late it is reported": async (open) => {
    const store = await open();
    await store.at(20).forget("ada");
    // Without a usable list; of both reports one impression is from before the deletion.
    for (const [seconds, late, id] of [
      [30, "a", "b"],
      [40, "c", "d"],
    ] as const) {
      const [old, recent] = [report([late], undefined, seconds - 10), report([id], undefined, 5)];
      await store.at(seconds).accept("ada", { ...old, impressions: [...old.impressions, ...recent.impressions] });
    }
    same(await store.page(41, ["a", "b", "c", "d"]), ["a", "c"]);
  },

  "an unseen id is fresh until it is recorded again": async (open) => {
    const store = await open();
    await store.record(0, ["a", "b"]);
    await store.at(10).unsee("ada", "b");
    same(await store.page(11, ["a", "b"]), ["b"]);
    await store.at(20).ingest("ada", await store.at(20).accept("ada", report(["b"], undefined, 15)));
    same(await store.page(21, ["a", "b"]), ["b"]);
    await store.record(30, "b");
    same(await store.page(31, ["a", "b"]), []);
  },

  "a history that is deleted is gone from the chain and from the devices' lists": async (open) => {
    const store = await open();
    await store.record(0, ["b", "c"]);
    await store.page(0, [], pendingOf(1, 1, "a"));
    await store.at(10).forget("ada");
    same(await store.page(11, ["a", "b", "c"]), ["a", "b", "c"]);
    // A report from before it arrives late.
    await store.at(20).ingest("ada", await store.at(20).accept("ada", report(["b"], undefined, 15)));
    same(await store.page(21, ["a", "b", "c"]), ["a", "b", "c"]);
  },

  "many writers of one user lose nothing": async (open) => {
    const store = (await open({ deadlineMs: 60_000 })).at(0);
    const ids = Array.from({ length: 100 }, (_, index) => `article-${index}`);
    await Promise.all(ids.map((id) => store.update("ada", (chain) => chain.record(id))));
    const chain = await store.read("ada");
    same(chain.filter(ids), []);
    chain.free();
  },

  "a long history is stored whole, and ends with its shards": async (open) => {
    const store = await open({ capacity: 10, shards: 4, ttlSeconds: 0 });
    const ids = Array.from({ length: 100 }, (_, index) => `article-${index}`);
    for (const [index, id] of ids.entries()) await store.record(index, id);
    same(await store.page(100, ids.slice(-30)), []);
    same((await store.page(100, ids.slice(0, 10))).length > 0, true);
  },

  "a change that throws stores nothing": async (open) => {
    const store = await open();
    const failing = store.at(0).update("ada", (chain, now) => {
      chain.record("a", { now });
      throw new Error("not now");
    });
    same(await failing.catch((error: unknown) => (error as Error).message), "not now");
    same(await store.page(1, ["a"]), ["a"]);
  },
};

export function promises(make: MakeStore): Promised[] {
  return Object.entries(tests).map(([name, test]) => ({
    name,
    check: () => test((options = {}) => Clocked.open(make, name, options)),
  }));
}
