/** `feed({ key })`: what a feed has decided outlives its component, and a reload, but no new visit and no clear. */
import type { Feed, GuardOptions, SeenGuard } from "seenguard";
import { describe, expect, test } from "vitest";
import { idsOf, MapStorage, openGuard, openPage, recordInTurn, uniqueNamespace, type Package } from "./support.js";

describe("feeds of one key", () => {
  test("share their verdicts, and each has its own pages", async () => {
    const { guard } = await openGuard();
    const [left, entered] = [guard.feed({ key: "home" }), guard.feed({ key: "home" })];
    expect(left.admit(["a", "b"])).toEqual(["a", "b"]);
    guard.record(["a", "b"]);
    expect(entered.admit(["a", "b", "c"])).toEqual(["a", "b", "c"]);
    expect(left.admit(["a", "b", "c"])).toEqual(["c"]);
    expect(guard.feed({ key: "search" }).filter(["a"])).toEqual([]);
    expect(guard.feed().filter(["a"])).toEqual([]);
  });

  test("share the order of what was seen", async () => {
    const { guard } = await openGuard();
    recordInTurn(guard, ["first", "second"]);
    const list = ["second", "a", "first"];
    const shown = guard.feed({ key: "home", seen: "last" }).filter(list);
    recordInTurn(guard, ["a", "second", "first"]);
    expect(guard.feed({ key: "home", seen: "last" }).filter(list)).toEqual(shown);
    expect(guard.feed({ key: "home" }).filter(list)).toEqual(["a"]);
  });

  test("find their verdicts again when the guard was closed and is opened again", async () => {
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const { guard } = await openGuard(options);
    guard.record("seen");
    const left = guard.feed({ key: "home" });
    expect(left.filter(["a", "seen"])).toEqual(["a"]);
    guard.record("a");
    await guard.close();
    // What a feed lets pass because its guard is closed is not decided.
    expect(left.filter(["a", "seen", "late"])).toEqual(["a", "late"]);
    const { guard: again } = await openGuard(options);
    again.record("late");
    expect(again.feed({ key: "home" }).filter(["a", "seen", "late"])).toEqual(["a"]);
  });

  test("are of one namespace", async () => {
    const [reader, other] = [await openGuard(), await openGuard()];
    reader.guard.feed({ key: "home" }).filter(["a"]);
    other.guard.record("a");
    expect(other.guard.feed({ key: "home" }).filter(["a"])).toEqual([]);
  });

  test("begin anew all together at a reset", async () => {
    const { guard } = await openGuard();
    const [one, two] = [guard.feed({ key: "home" }), guard.feed({ key: "home" })];
    expect(one.filter(["a"])).toEqual(["a"]);
    guard.record("a");
    two.reset();
    expect(one.filter(["a"])).toEqual([]);
  });

  test("decide anew what was taken back while no guard was open", async () => {
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

  test("are those of the 32 keys that were used last", async () => {
    const { guard } = await openGuard();
    const feedOf = (key: number) => guard.feed({ key: String(key) });
    for (let key = 0; key < 32; key++) feedOf(key).filter(["a"]);
    guard.record("a");
    feedOf(0);
    expect(feedOf(32).filter(["a"])).toEqual([]);
    expect(feedOf(0).filter(["a"])).toEqual(["a"]);
    expect(feedOf(31).filter(["a"])).toEqual(["a"]);
    expect(feedOf(1).filter(["a"])).toEqual([]);
  });

  test("forget at once when the namespace is cleared, though it is not open or kept nowhere", async () => {
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

/** Clears a namespace that is kept nowhere, with the class that the guard is of. */
function clear(guard: SeenGuard, namespace: string): Promise<void> {
  return (guard.constructor as unknown as Package["SeenGuard"]).clear(namespace, "none");
}

type Navigation = "navigate" | "reload" | "back_forward";

/** A tab of a browser: documents come one after the other, and share the tab's sessionStorage. */
class Tab {
  readonly session = new MapStorage();
  readonly options: Partial<GuardOptions> & { namespace: string };
  /** The globals of the document that is shown. */
  page: object = {};
  #hide = () => {};

  constructor(options: Partial<GuardOptions> = {}) {
    this.options = { namespace: uniqueNamespace(), storage: new MapStorage(), ...options };
  }

  /** Leaves the document that is shown, if any, and opens the next one. */
  async visit(navigation: Navigation, changes: object = {}): Promise<SeenGuard> {
    this.hide();
    const { seenguard, run } = openPage();
    const listeners: [type: string, listener: (event: { type: string }) => void][] = [];
    this.page = run("globalThis.window = globalThis") as object;
    const { session } = this;
    Object.assign(this.page, {
      document: { visibilityState: "visible" },
      performance: { now: () => performance.now(), timeOrigin: 0, getEntriesByType: () => [{ type: navigation }] },
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
    this.#hide = () => {
      for (const [type, listener] of listeners) if (type === "pagehide") listener({ type });
    };
    const { guard } = await openGuard(this.options, seenguard);
    return guard;
  }

  /** What the page is told when it is left. */
  hide(): void {
    this.#hide();
  }
}

const home = (guard: SeenGuard): Feed => guard.feed({ key: "home" });

describe("after a reload or a way back in the history", () => {
  for (const navigation of ["reload", "back_forward"] as const) {
    test(`a list comes back as it was, what was read included: ${navigation}`, async () => {
      const tab = new Tab();
      const guard = await tab.visit("navigate");
      guard.record("seen");
      expect(home(guard).filter(["a", "seen", "b"])).toEqual(["a", "b"]);
      guard.record("a");
      await guard.flush();
      const again = await tab.visit(navigation);
      again.record("c");
      expect(home(again).filter(["a", "seen", "b", "c"])).toEqual(["a", "b"]);
      const third = await tab.visit(navigation);
      expect(home(third).filter(["a", "seen", "b"])).toEqual(["a", "b"]);
    });
  }

  test("so does the order of what was seen", async () => {
    const tab = new Tab();
    const guard = await tab.visit("navigate");
    recordInTurn(guard, ["first", "second"]);
    const page = ["second", "a", "first"];
    const shown = guard.feed({ key: "home", seen: "last" }).filter(page);
    recordInTurn(guard, ["second", "first", "a", "third"]);
    const again = (await tab.visit("reload")).feed({ key: "home", seen: "last" });
    expect(again.filter([...page, "third", "b"])).toEqual([...shown, "b", "third"]);
  });

  test("so does an item of several ids", async () => {
    const tab = new Tab();
    const guard = await tab.visit("navigate");
    const list = [{ id: "repost", of: "original" }, { id: "other" }];
    const idOf = ({ id, of }: { id: string; of?: string }) => [id, of];
    guard.record("original");
    expect(home(guard).filter(list, idOf)).toEqual([{ id: "other" }]);
    const again = await tab.visit("reload");
    expect(home(again).filter(list, idOf)).toEqual([{ id: "other" }]);
    again.unsee("original");
    expect(home(again).filter(list, idOf)).toEqual(list);
  });

  test("what was taken back meanwhile passes", async () => {
    const tab = new Tab();
    const guard = await tab.visit("navigate");
    guard.record(["a", "b"]);
    expect(home(guard).filter(["a", "b"])).toEqual([]);
    tab.hide();
    guard.unsee("a");
    await guard.flush();
    expect(home(await tab.visit("reload")).filter(["a", "b"])).toEqual(["a"]);
  });

  test("the newest 2,000 verdicts are there, and no others", async () => {
    const tab = new Tab();
    const guard = await tab.visit("navigate");
    expect(home(guard).filter(idsOf("item", 2100))).toHaveLength(2100);
    guard.record(idsOf("item", 2100));
    await guard.flush();
    const again = await tab.visit("reload");
    expect(home(again).filter(idsOf("item", 2100))).toEqual(idsOf("item", 2000, 100));
  });

  test("the feeds of other documents of the tab are there, too, of at most 32 keys", async () => {
    const tab = new Tab();
    const list = await tab.visit("navigate");
    expect(home(list).filter(["a"])).toEqual(["a"]);
    list.record("a");
    await list.flush();
    const article = await tab.visit("navigate");
    expect(article.feed({ key: "related" }).filter(["b"])).toEqual(["b"]);
    article.record("b");
    await article.flush();
    const back = await tab.visit("back_forward");
    expect(home(back).filter(["a"])).toEqual(["a"]);
    expect(back.feed({ key: "related" }).filter(["b"])).toEqual(["b"]);
    const other = await tab.visit("navigate");
    for (let key = 0; key < 32; key++) other.feed({ key: String(key) }).filter(["c"]);
    expect(home(await tab.visit("back_forward")).filter(["a"])).toEqual([]);
  });
});

describe("what was saved is not used", () => {
  async function leftWith(tab: Tab): Promise<SeenGuard> {
    const guard = await tab.visit("navigate");
    expect(home(guard).filter(["a"])).toEqual(["a"]);
    guard.record("a");
    await guard.flush();
    tab.hide();
    return guard;
  }

  test("on a new visit", async () => {
    const tab = new Tab();
    await leftWith(tab);
    expect(home(await tab.visit("navigate")).filter(["a"])).toEqual([]);
  });

  test("by another namespace, or for another key", async () => {
    const tab = new Tab();
    await leftWith(tab);
    const { storage } = tab.options;
    const other = new Tab({ storage: storage ?? "none" });
    for (const [key, value] of tab.session.values) other.session.set(key, value);
    const guard = await other.visit("reload");
    guard.record("a");
    expect(home(guard).filter(["a"])).toEqual([]);
    expect((await tab.visit("reload")).feed({ key: "search" }).filter(["a"])).toEqual([]);
  });

  test("after a reset, though the page then dies without a word", async () => {
    const tab = new Tab();
    const guard = await leftWith(tab);
    home(guard).reset();
    expect([...tab.session.values]).toEqual([]);
  });

  test("once another tab has cleared the namespace, before or after this one knows of it", async () => {
    const tab = new Tab();
    const guard = await leftWith(tab);
    const { namespace, storage } = tab.options;
    await openPage().seenguard.SeenGuard.clear(namespace, storage);
    const again = await tab.visit("reload");
    again.record("a");
    expect(home(again).filter(["a", "b"])).toEqual(["b"]);
    again.record("b");
    await again.flush();
    await openPage().seenguard.SeenGuard.clear(namespace, storage);
    // Without a signal this tab hears of it at its next look.
    await again.flush();
    again.record("b");
    await again.flush();
    expect(home(again).filter(["a", "b"])).toEqual(["a"]);
    await guard.close();
  });

  test("once this tab has cleared the namespace, with no feed in the document that does", async () => {
    const tab = new Tab({ storage: "none" });
    await leftWith(tab);
    await clear(await tab.visit("reload"), tab.options.namespace);
    expect([...tab.session.values]).toEqual([]);
  });

  test("when it is garbage, of which nothing comes but a feed that decides anew", async () => {
    const tab = new Tab();
    await leftWith(tab);
    const [name = "", saved = ""] = [...tab.session.values].flat();
    for (const garbage of [
      ...["", "{", "null", "7", "{}", "[7]", '[["home"]]', '[["home",null]]', '[["home",[0,7]]]', '[["home",[0,[7]]]]'],
      ...[
        '[["home",[0,[[1,0]]]]]',
        '[["home",[0,[["1",0,"a"]]]]]',
        '[["home",[0,[[1,0,7]]]]]',
        '[[1,[0,[[1,0,"a"]]]]]',
      ],
      ...['[["home",[0,[[-1,0,"a"]]]]]', '[["home",[0,[[1,0.5,"a"]]]]]', "[".repeat(100_000)],
      ...[saved.slice(0, -4)],
    ]) {
      const page = await tab.visit("reload");
      tab.session.set(name, garbage);
      expect(home(page).filter(["a"]), garbage.slice(0, 80)).toEqual([]);
      await page.close();
    }
    const page = await tab.visit("reload");
    tab.session.set(name, '[["home",["never",[[1,0,"a"],[1,1],[2,0,"b"]]]]]');
    page.record("b");
    expect(home(page).filter(["a", "b", "c"])).toEqual(["a", "b", "c"]);
  });

  test("where sessionStorage is denied, full or not there, and nothing is wrong", async () => {
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
      for (const navigation of ["navigate", "reload"] as const) {
        const guard = await tab.visit(navigation);
        Object.defineProperty(tab.page, "sessionStorage", { configurable: true, ...changes });
        expect(home(guard).filter(["a"])).toEqual(navigation === "navigate" ? ["a"] : []);
        home(guard).reset();
        guard.record("a");
        await guard.flush();
      }
      tab.hide();
      expect(errors).toEqual([]);
    }
  });

  test("where there was no room for it: nothing older is left either", async () => {
    const tab = new Tab();
    const guard = await leftWith(tab);
    tab.session.before = (operation) => {
      if (operation === "set") throw new Error("full");
    };
    expect(home(guard).filter(["b"])).toEqual(["b"]);
    tab.hide();
    expect([...tab.session.values]).toEqual([]);
    expect(home(await tab.visit("reload")).filter(["a"])).toEqual([]);
  });
});

test("a page that merely hides saves its feeds as well: it may never be seen again", async () => {
  const tab = new Tab();
  const listeners: ((event: { type: string }) => void)[] = [];
  const page = { visibilityState: "visible" };
  const guard = await tab.visit("navigate", {
    document: page,
    addEventListener: (type: string, listener: () => void) => {
      if (type === "visibilitychange") listeners.push(listener);
    },
  });
  expect(home(guard).filter(["a"])).toEqual(["a"]);
  for (const listener of listeners) listener({ type: "visibilitychange" });
  expect([...tab.session.values]).toEqual([]);
  page.visibilityState = "hidden";
  for (const listener of listeners) listener({ type: "visibilitychange" });
  expect([...tab.session.values.values()].join()).toContain('"a"');
});

test("on a server, where one process renders for everybody, nothing of a keyed feed is kept", async () => {
  const { seenguard, run } = openPage();
  const guard = await seenguard.SeenGuard.open({ namespace: uniqueNamespace() });
  expect(home(guard).filter(["a", "a"])).toEqual(["a"]);
  await guard.close();
  const kept = "Object.getOwnPropertySymbols(globalThis).map((each) => globalThis[each].verdicts?.size ?? 0)";
  expect(new Set(run(kept) as number[])).toEqual(new Set([0]));
});
