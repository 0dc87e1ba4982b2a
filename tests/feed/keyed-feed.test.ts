/** `feed({ key })`: a list's verdicts outlive its component; its fresh ids outlive back navigation and a crash. */
import type { Feed, GuardOptions, SeenGuard } from "seenguard";
import { describe, expect, test } from "vitest";
import { idsOf, MapStorage, openGuard, openPage, settled, uniqueNamespace, type Package } from "../support/node.js";

describe("feeds of one key", () => {
  test("share their verdicts, and each has its own pages", async () => {
    const { guard } = await openGuard();
    const [left, entered] = [guard.feed({ key: "home" }), guard.feed({ key: "home" })];
    expect(left.admit(["a", "b"])).toEqual(["a", "b"]);
    guard.record(["a", "b"]);
    expect(entered.admit(["a", "b", "c"])).toEqual(["a", "b", "c"]);
    expect(left.admit(["c", "a", "b"])).toEqual(["c"]);
    expect(guard.feed({ key: "search" }).filter(["a"])).toEqual([]);
    expect(guard.feed().filter(["a"])).toEqual([]);
  });

  test("have their verdicts again when the guard was closed and is opened again", async () => {
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const { guard } = await openGuard(options);
    guard.record("seen");
    const left = guard.feed({ key: "home" });
    expect(left.filter(["a", "seen"])).toEqual(["a"]);
    guard.record("a");
    await guard.close();
    // Items shown while the guard is closed are on screen, and stay.
    expect(left.filter(["a", "seen", "late"])).toEqual(["a", "late"]);
    const { guard: again } = await openGuard(options);
    again.record("late");
    expect(again.feed({ key: "home" }).filter(["a", "seen", "late"])).toEqual(["a", "late"]);
  });

  test("are separate in each namespace", async () => {
    const [reader, other] = [await openGuard(), await openGuard()];
    reader.guard.feed({ key: "home" }).filter(["a"]);
    other.guard.record("a");
    expect(other.guard.feed({ key: "home" }).filter(["a"])).toEqual([]);
  });

  test("restart separately: a reset does not change another list on screen, and a list opened later has the new verdicts", async () => {
    const { guard } = await openGuard();
    const [shown, reset] = [guard.feed({ key: "home" }), guard.feed({ key: "home" })];
    expect(shown.filter(["a", "b"])).toEqual(["a", "b"]);
    guard.record("a");
    reset.reset();
    expect(reset.filter(["a", "b", "c"])).toEqual(["b", "c"]);
    guard.record(["b", "c"]);
    expect(shown.filter(["a", "b"])).toEqual(["a", "b"]);
    expect(guard.feed({ key: "home" }).filter(["a", "b", "c"])).toEqual(["b", "c"]);
  });

  test("decide ids again that became unseen while no guard was open", async () => {
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const { guard } = await openGuard(options);
    guard.record("a");
    expect(guard.feed({ key: "home" }).filter(["a"])).toEqual([]);
    await guard.close();
    const elsewhere = await openGuard(options, openPage().seenguard);
    elsewhere.guard.unsee("a");
    await elsewhere.guard.close();
    const { guard: again } = await openGuard(options);
    expect(again.feed({ key: "home" }).filter(["a"])).toEqual(["a"]);
  });

  test("of a list on screen keep its verdicts, however many other keys are used", async () => {
    const { guard } = await openGuard();
    const [used, left, replaced] = ["used", "left", "replaced"].map((key) => guard.feed({ key })) as [Feed, Feed, Feed];
    for (const feed of [used, left, replaced]) feed.filter(["a"]);
    guard.record("a");
    for (let key = 0; key < 40; key++) {
      guard.feed({ key: String(key) }).filter(["b"]);
      used.filter(["a"]);
    }
    expect(guard.feed({ key: "used" }).filter(["a"])).toEqual(["a"]);
    expect(left.filter(["a"])).toEqual(["a"]);
    expect(guard.feed({ key: "left" }).filter(["a"])).toEqual(["a"]);
    // Another list of the key has begun.
    expect(guard.feed({ key: "replaced" }).filter(["a"])).toEqual([]);
    expect(replaced.filter(["a"])).toEqual(["a"]);
    expect(guard.feed({ key: "replaced" }).filter(["a"])).toEqual([]);
  });

  test("drop their verdicts at once when the namespace is cleared, also if it is not open or not stored", async () => {
    const options = { namespace: uniqueNamespace() };
    const { guard } = await openGuard(options);
    const feed = guard.feed({ key: "home" });
    guard.record("seen");
    expect(feed.filter(["a", "seen"])).toEqual(["a"]);
    await clear(guard, options.namespace);
    expect(feed.filter(["a", "seen"])).toEqual(["a", "seen"]);
    guard.record(["a", "b"]);
    expect(feed.filter(["a", "seen", "b"])).toEqual(["a", "seen"]);
    await guard.close();
    await clear(guard, options.namespace);
    const { guard: again } = await openGuard(options);
    again.record("a");
    expect(again.feed({ key: "home" }).filter(["a"])).toEqual([]);
  });
});

/** Clears a namespace that is not stored, by the guard's class. */
function clear(guard: SeenGuard, namespace: string): Promise<void> {
  return (guard.constructor as unknown as Package["SeenGuard"]).clear(namespace, "none");
}

type Navigation = "navigate" | "reload" | "back_forward";

/** A tab of a browser: its documents follow each other, and share the tab's sessionStorage. */
class Tab {
  readonly session = new MapStorage();
  readonly options: Partial<GuardOptions> & { namespace: string };
  /** The globals of the current document. */
  page: object = {};
  /** Dispatches an event to the current document. */
  dispatch: (type: "pagehide" | "pageshow" | "visibilitychange") => void = () => {};

  constructor(options: Partial<GuardOptions> = {}) {
    this.options = { namespace: uniqueNamespace(), storage: new MapStorage(), ...options };
  }

  /** Opens the next document after the former one has died without an event. */
  async open(navigation: Navigation, changes: object = {}): Promise<SeenGuard> {
    const { seenguard, run } = openPage();
    const listeners: [type: string, listener: (event: { type: string }) => void][] = [];
    this.page = run("globalThis.window = globalThis") as object;
    const { session } = this;
    Object.assign(this.page, {
      document: { visibilityState: "visible" },
      performance: { now: () => performance.now(), timeOrigin: 0, getEntriesByType: () => [{ type: navigation }] },
      opener: null,
      addEventListener: (type: string, listener: () => void) => listeners.push([type, listener]),
      removeEventListener: () => undefined,
      sessionStorage: {
        getItem: (key: string) => session.get(key) ?? null,
        setItem: (key: string, value: string) => {
          session.set(key, value);
        },
        removeItem: (key: string) => {
          session.remove(key);
        },
      },
      ...changes,
    });
    this.dispatch = (type) => {
      for (const [each, listener] of listeners) if (each === type) listener({ type });
    };
    const { guard } = await openGuard(this.options, seenguard);
    return guard;
  }

  /** Opens the next document after a `pagehide` of the former one. */
  visit(navigation: Navigation, changes: object = {}): Promise<SeenGuard> {
    this.dispatch("pagehide");
    return this.open(navigation, changes);
  }

  /** Resolves when sessionStorage contains this string, or does not any more. */
  async saved(text: string, is = true): Promise<void> {
    while ([...this.session.values.values()].join().includes(text) !== is) await settled();
  }
}

const home = (guard: SeenGuard): Feed => guard.feed({ key: "home" });

/** A document whose list of the key "home" has shown "a", which has been seen since. */
async function shownIn(tab: Tab): Promise<SeenGuard> {
  const guard = await tab.visit("navigate");
  guard.record("seen");
  expect(home(guard).filter(["a", "seen", "b"])).toEqual(["a", "b"]);
  guard.record(["a", "b"]);
  await guard.flush();
  await tab.saved('"a"');
  return guard;
}

describe("a list has its fresh ids again", () => {
  test("i4: after back navigation", async () => {
    const tab = new Tab();
    await shownIn(tab);
    for (let time = 0; time < 2; time++) {
      const back = await tab.visit("back_forward");
      back.record("c");
      expect(home(back).filter(["a", "seen", "b", "c"])).toEqual(["a", "b"]);
    }
  });

  for (const navigation of ["reload", "navigate"] as const) {
    test(`i4: where the tab's former document died without a pagehide: ${navigation}`, async () => {
      const tab = new Tab();
      await shownIn(tab);
      const again = await tab.open(navigation);
      expect(home(again).filter(["a", "seen", "b", "c"])).toEqual(["a", "b", "c"]);
      // The list is now that document's, which dies, too.
      again.record("c");
      await again.flush();
      await tab.saved('"c"');
      expect(home(await tab.open(navigation)).filter(["a", "b", "c"])).toEqual(["a", "b", "c"]);
    });
  }

  test("with ids that became unseen meanwhile passing", async () => {
    const tab = new Tab();
    const guard = await shownIn(tab);
    tab.dispatch("pagehide");
    guard.unsee("seen");
    await guard.flush();
    expect(home(await tab.visit("back_forward")).filter(["a", "seen"])).toEqual(["a", "seen"]);
  });

  test("i7: the newest 2,000, and no others", async () => {
    const tab = new Tab();
    const guard = await tab.visit("navigate");
    expect(home(guard).filter(idsOf("item", 2100))).toHaveLength(2100);
    guard.record(idsOf("item", 2100));
    await guard.flush();
    const again = await tab.visit("back_forward");
    expect(home(again).filter(idsOf("item", 2100))).toEqual(idsOf("item", 2000, 100));
  });

  test("for the 32 keys that were used last", async () => {
    const tab = new Tab();
    await shownIn(tab);
    const other = await tab.visit("navigate");
    for (let key = 0; key < 32; key++) other.feed({ key: String(key) }).filter(["c"]);
    other.record("c");
    await other.flush();
    const back = await tab.visit("back_forward");
    expect(home(back).filter(["a"])).toEqual([]);
    expect(back.feed({ key: "1" }).filter(["c"])).toEqual(["c"]);
  });
});

describe("saved verdicts are not used", () => {
  for (const navigation of ["navigate", "reload"] as const) {
    test(`i4: by the next document after a pagehide, which begins a new list: ${navigation}`, async () => {
      const tab = new Tab();
      await shownIn(tab);
      const guard = await tab.visit(navigation);
      expect(home(guard).filter(["a", "b", "c"])).toEqual(["c"]);
      guard.record("c");
      await guard.flush();
      expect(home(await tab.visit("back_forward")).filter(["a", "b", "c"])).toEqual(["c"]);
    });
  }

  test("in a window opened by another one, whose sessionStorage it got a copy of", async () => {
    const tab = new Tab();
    await shownIn(tab);
    const opened = new Tab(tab.options);
    for (const [key, value] of tab.session.values) opened.session.set(key, value);
    expect(home(await opened.open("navigate", { opener: {} })).filter(["a", "b"])).toEqual([]);
    // Nor in its next document, once the other window has gone.
    expect(home(await opened.visit("navigate")).filter(["a", "b"])).toEqual([]);
  });

  test("by another namespace, or for another key", async () => {
    const tab = new Tab();
    await shownIn(tab);
    const { storage } = tab.options;
    const other = new Tab({ storage: storage ?? "none" });
    for (const [key, value] of tab.session.values) other.session.set(key, value);
    const guard = await other.visit("back_forward");
    guard.record("a");
    expect(home(guard).filter(["a"])).toEqual([]);
    expect((await tab.visit("back_forward")).feed({ key: "search" }).filter(["a"])).toEqual([]);
  });

  test("i4: after a reset, also if the page then dies without an event", async () => {
    const tab = new Tab();
    const guard = await shownIn(tab);
    home(guard).reset();
    await tab.saved('"a"', false);
    expect(home(await tab.open("reload")).filter(["a"])).toEqual([]);
  });

  test("i4: once another tab has cleared the namespace, before or after this tab reads the signal", async () => {
    const tab = new Tab();
    const guard = await shownIn(tab);
    const { namespace, storage } = tab.options;
    await openPage().seenguard.SeenGuard.clear(namespace, storage);
    const again = await tab.visit("back_forward");
    again.record("a");
    expect(home(again).filter(["a", "b"])).toEqual(["b"]);
    again.record("b");
    await again.flush();
    await openPage().seenguard.SeenGuard.clear(namespace, storage);
    // Without a signal this tab reads it when it is shown again.
    tab.dispatch("pagehide");
    tab.dispatch("pageshow");
    while (again.explain("b").seen) await settled();
    again.record("b");
    await again.flush();
    expect(home(again).filter(["a", "b"])).toEqual(["a"]);
    await guard.close();
  });

  test("when they are damaged: the feed decides again", async () => {
    const tab = new Tab();
    await shownIn(tab);
    tab.dispatch("pagehide");
    const saved = [...tab.session.values];
    expect(saved).toHaveLength(2);
    for (const [name, text] of saved) {
      for (const garbage of [
        ...["", "{", "null", "7", "{}", "[7]", "[null]", "[[]]", "[7,[7,null,{}]]", "[0,null]", '[0,"a"]', '[["home"'],
        ...["[[7,true]]", '[{"0":"home"}]', "[".repeat(100_000), text.slice(0, -4)],
      ]) {
        tab.session.values.clear();
        for (const [each, right] of saved) tab.session.set(each, each === name ? garbage : right);
        const page = await tab.open("back_forward");
        expect(home(page).filter(["a"]), garbage.slice(0, 80)).toEqual([]);
        expect(home(page).filter(["c"])).toEqual(["c"]);
        await page.close();
      }
    }
  });

  test("where sessionStorage is denied, full or missing, and nothing is reported", async () => {
    const denied = {
      get sessionStorage(): never {
        throw new Error("denied");
      },
    };
    for (const changes of [
      Object.getOwnPropertyDescriptor(denied, "sessionStorage"),
      { value: undefined },
      { value: null },
    ]) {
      const tab = new Tab();
      const errors: unknown[] = [];
      tab.options.onError = (error) => errors.push(error);
      for (const navigation of ["navigate", "back_forward"] as const) {
        const guard = await tab.visit(navigation);
        Object.defineProperty(tab.page, "sessionStorage", { configurable: true, ...changes });
        expect(home(guard).filter(["a"])).toEqual(navigation === "navigate" ? ["a"] : []);
        home(guard).reset();
        guard.record("a");
        await guard.flush();
      }
      tab.dispatch("pagehide");
      expect(errors).toEqual([]);
    }
  });

  test("where they did not fit: no older ones stay either", async () => {
    const tab = new Tab();
    const guard = await shownIn(tab);
    tab.session.before = (operation) => {
      if (operation === "set") throw new Error("full");
    };
    expect(home(guard).filter(["c"])).toEqual(["c"]);
    tab.dispatch("pagehide");
    expect([...tab.session.values]).toEqual([]);
    expect(home(await tab.visit("back_forward")).filter(["a"])).toEqual([]);
  });
});

describe("verdicts are saved", () => {
  /** A page with saved lists of the keys "home" and "search", and the writes from then on. */
  async function twoLists() {
    const tab = new Tab();
    const guard = await tab.visit("navigate");
    const [feed, other] = [home(guard), guard.feed({ key: "search" })];
    other.filter(idsOf("other", 2000));
    feed.filter(["a"]);
    await tab.saved('"a"');
    const written: string[] = [];
    tab.session.before = (operation, key) => {
      if (operation === "set") written.push(key);
    };
    return { tab, feed, written };
  }

  test("at most once a second, however many pages arrive, and only those of the changed list", async () => {
    const { tab, feed, written } = await twoLists();
    const began = performance.now();
    for (const id of idsOf("item", 20)) {
      feed.admit([id]);
      await settled();
    }
    expect(written).toEqual([]);
    await tab.saved('"item-19"');
    expect(performance.now() - began).toBeGreaterThan(500);
    expect(written.filter((key) => key.endsWith("/home"))).toHaveLength(1);
    expect(written.filter((key) => key.endsWith("/search"))).toEqual([]);
    // The index lists the keys, and is short.
    for (const key of written) if (!key.endsWith("/home")) expect(tab.session.get(key)?.length).toBeLessThan(100);
  });

  test.each(["hidden", "pagehide"] as const)("at once as the page hides: %s", async (how) => {
    const { tab, feed, written } = await twoLists();
    feed.admit(["b"]);
    expect(written).toEqual([]);
    if (how === "hidden") Object.assign(tab.page, { document: { visibilityState: "hidden" } });
    tab.dispatch(how === "hidden" ? "visibilitychange" : "pagehide");
    expect([...tab.session.values.values()].join()).toContain('"b"');
    expect(written.filter((key) => key.endsWith("/search"))).toEqual([]);
    // The page may die now.
    expect(home(await tab.open("back_forward")).filter(["b"])).toEqual(["b"]);
  });
});

test("on a server, where one process renders for all users, no verdicts of a keyed feed are stored", async () => {
  const { seenguard, run } = openPage();
  const guard = await seenguard.SeenGuard.open({ namespace: uniqueNamespace() });
  expect(home(guard).filter(["a", "a"])).toEqual(["a"]);
  await guard.close();
  const sizes = "Object.getOwnPropertySymbols(globalThis).map((each) => globalThis[each].verdicts?.size ?? 0)";
  expect(new Set(run(sizes) as number[])).toEqual(new Set([0]));
});
