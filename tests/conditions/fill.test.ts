/** `feed.fill`: pages are fetched until enough fresh items are there; overlapping calls share a run, and every end is told. */
import type { FeedPage, FillResult, PageRequest, Snapshot } from "seenguard";
import { describe, expect, test } from "vitest";
import { heldBy, idsOf, openGuard, recordInTurn, settled, shippedSnapshot } from "../node/support.js";

interface Item {
  readonly id: string;
}

const pageOf = (...ids: string[]): FeedPage<Item> => ({ items: ids.map((id) => ({ id })) });
const idsIn = ({ items }: FillResult<Item>) => items.map(({ id }) => id);

/** A source of pages that notes which were asked for. */
function sourceOf(...pages: (FeedPage<Item> | null)[]) {
  const asked: number[] = [];
  const fetchPage = ({ page }: PageRequest) => {
    asked.push(page);
    return Promise.resolve(pages[page] ?? null);
  };
  return { asked, fetchPage };
}

/** A source whose pages come when the test says so. */
function gatedSource() {
  const waiting: { page: number; signal: AbortSignal; bring: (page: FeedPage<Item> | null) => void }[] = [];
  const fetchPage = ({ page, signal }: PageRequest) =>
    new Promise<FeedPage<Item> | null>((bring) => {
      waiting.push({ page, signal, bring });
    });
  return { waiting, fetchPage };
}

async function feedWith(...recorded: string[]) {
  const opened = await openGuard();
  opened.guard.record(recorded);
  return { ...opened, feed: opened.guard.feed() };
}

describe("fill", () => {
  test("fetches page after page until so many fresh items are there, and goes on from there", async () => {
    const { feed } = await feedWith("b", "d");
    const { asked, fetchPage } = sourceOf(pageOf("a", "b"), pageOf("c", "d"), pageOf("e", "f"), pageOf("g"));
    const first = await feed.fill(fetchPage, 2);
    expect(first).toEqual({
      items: [{ id: "a" }, { id: "c" }],
      repeated: 0,
      pages: 2,
      stopped: 2,
      end: "filled",
      done: false,
      next: undefined,
    });
    const second = await feed.fill(fetchPage, 2);
    expect(idsIn(second)).toEqual(["e", "f"]);
    expect(asked).toEqual([0, 1, 2]);
  });

  test("returns all fresh items of the last page, also more than were wanted", async () => {
    const { feed } = await feedWith();
    const { fetchPage } = sourceOf(pageOf("a", "b", "c"));
    expect(await feed.fill(fetchPage, 1)).toMatchObject({
      items: [{ id: "a" }, { id: "b" }, { id: "c" }],
      end: "filled",
    });
  });

  test("that wants nothing fetches nothing", async () => {
    const { feed } = await feedWith();
    const { asked, fetchPage } = sourceOf(pageOf("a"));
    expect(await feed.fill(fetchPage, 0)).toMatchObject({ items: [], pages: 0, end: "filled", done: false });
    expect(asked).toEqual([]);
  });

  test("says where the next page begins, and whether anything more will come", async () => {
    const { feed } = await feedWith();
    const fetchPage = ({ cursor = 0 }: PageRequest<number>) =>
      Promise.resolve({ ...pageOf(`item-${String(cursor)}`), next: cursor < 2 ? cursor + 1 : null });
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ end: "filled", done: false, next: 1 });
    expect(await feed.fill(fetchPage, 1, { maxPages: 1 })).toMatchObject({ done: false, next: 2 });
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ end: "filled", done: true, next: null });
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ items: [], end: "exhausted", done: true, next: null });
    feed.reset();
    expect(await feed.fill(fetchPage, 0)).toMatchObject({ done: false, next: undefined });
  });

  test("is done when a source without cursors has ended", async () => {
    const { feed } = await feedWith();
    const { fetchPage } = sourceOf(pageOf("a"));
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ done: false, next: undefined });
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ end: "exhausted", done: true, next: undefined });
  });

  for (const [what, last] of [
    ["null", null],
    ["an empty page", pageOf()],
    ["nothing at all", undefined],
  ] as const) {
    test(`ends when the source answers with ${what}`, async () => {
      const { feed } = await feedWith("a");
      const pages = [pageOf("a", "b"), last];
      const result = await feed.fill(({ page }) => Promise.resolve(pages[page] as FeedPage<Item> | null), 5);
      expect(result).toMatchObject({ items: [{ id: "b" }], stopped: 1, end: "exhausted" });
    });
  }

  test("ends after so many pages: five, or as many as it was told", async () => {
    const { feed } = await feedWith("seen");
    const endless = () => Promise.resolve(pageOf("seen"));
    expect(await feed.fill(endless, 1)).toEqual({
      items: [],
      repeated: 0,
      pages: 5,
      stopped: 5,
      end: "max-pages",
      done: false,
      next: undefined,
    });
    expect(await feed.fill(endless, 1, { maxPages: 2 })).toMatchObject({ pages: 2, end: "max-pages" });
  });

  test("brings no item that an earlier page of this list brought", async () => {
    const { feed } = await feedWith();
    const { fetchPage } = sourceOf(pageOf("a", "b"), pageOf("b", "c", "c"));
    expect(await feed.fill(fetchPage, 3)).toMatchObject({ items: [{ id: "a" }, { id: "b" }, { id: "c" }], stopped: 2 });
  });

  test("takes the ids where it is told to", async () => {
    const { feed } = await feedWith("1");
    const pages = [{ items: [{ key: 1 }, { key: 2 }] }];
    const result = await feed.fill(({ page }) => Promise.resolve(pages[page] ?? null), 1, { id: ({ key }) => key });
    expect(result.items).toEqual([{ key: 2 }]);
  });

  test("applies each page's snapshot before it decides on the page's items", async () => {
    const { guard, feed } = await feedWith();
    const { version: _, ...later } = await shippedSnapshot(["c"]);
    const pages: (FeedPage<Item> & { snapshot: Snapshot })[] = [
      { ...pageOf("a", "c"), snapshot: { version: 1, shards: (await shippedSnapshot(["a"])).shards } },
      { ...pageOf("b", "c", "d"), snapshot: { version: 2, ...later } },
    ];
    const result = await feed.fill(({ page }) => Promise.resolve(pages[page] ?? null), 3);
    // "c" was fresh by the first page's snapshot, and is shown already when the second one knows it.
    expect(idsIn(result)).toEqual(["c", "b", "d"]);
    expect(guard.stats().version).toBe(2);
  });

  test("fills through a snapshot that is bad, which is reported", async () => {
    const { feed, codes } = await feedWith();
    const page = { ...pageOf("a"), snapshot: { shards: ["!"] } };
    expect(await feed.fill(() => Promise.resolve(page), 1)).toMatchObject({ items: [{ id: "a" }], end: "filled" });
    expect(codes()).toEqual(["bad-snapshot"]);
  });
});

describe("calls of fill that overlap", () => {
  test("share one run and get the same", async () => {
    const { feed } = await feedWith();
    const { waiting, fetchPage } = gatedSource();
    const runs = [feed.fill(fetchPage, 2), feed.fill(fetchPage, 2)];
    await settled();
    runs.push(feed.fill(fetchPage, 2));
    expect(waiting).toHaveLength(1);
    waiting[0]?.bring(pageOf("a", "b"));
    for (const run of runs)
      expect(await run).toMatchObject({ items: [{ id: "a" }, { id: "b" }], pages: 1, end: "filled" });
    expect(waiting).toHaveLength(1);
  });

  test("do not hold up the next: when the run is over, a new one begins", async () => {
    const { feed } = await feedWith();
    const { asked, fetchPage } = sourceOf(pageOf("a"), pageOf("b"));
    await Promise.all([feed.fill(fetchPage, 1), feed.fill(fetchPage, 1)]);
    expect(idsIn(await feed.fill(fetchPage, 1))).toEqual(["b"]);
    expect(asked).toEqual([0, 1]);
  });
});

describe("a run of fill is ended", () => {
  test("by a reset: what has come is returned, the request is aborted, and the list begins anew", async () => {
    const { feed } = await feedWith();
    const { waiting, fetchPage } = gatedSource();
    const running = feed.fill(fetchPage, 5);
    await settled();
    waiting[0]?.bring(pageOf("a"));
    await settled();
    feed.reset();
    expect(await running).toMatchObject({ items: [{ id: "a" }], end: "aborted" });
    expect(waiting[1]?.signal.aborted).toBe(true);
    const again = feed.fill(fetchPage, 1);
    await settled();
    waiting[1]?.bring(pageOf("late"));
    expect(waiting.map(({ page }) => page)).toEqual([0, 1, 0]);
    waiting[2]?.bring(pageOf("a"));
    expect(await again).toMatchObject({ items: [{ id: "a" }], end: "filled" });
  });

  test("by its caller's signal, but not for another caller who still waits", async () => {
    const { feed } = await feedWith();
    const { waiting, fetchPage } = gatedSource();
    const [one, two] = [new AbortController(), new AbortController()];
    const runs = [feed.fill(fetchPage, 2, { signal: one.signal }), feed.fill(fetchPage, 2, { signal: two.signal })];
    await settled();
    waiting[0]?.bring(pageOf("a"));
    await settled();
    one.abort();
    expect(await runs[0]).toMatchObject({ items: [{ id: "a" }], end: "aborted" });
    expect(waiting[1]?.signal.aborted).toBe(false);
    waiting[1]?.bring(pageOf("b"));
    expect(await runs[1]).toMatchObject({ items: [{ id: "a" }, { id: "b" }], end: "filled" });
  });

  test("by its caller's signal, but goes on for another caller, whose run a third one joins", async () => {
    const { feed } = await feedWith();
    const { waiting, fetchPage } = gatedSource();
    const leaving = new AbortController();
    const runs = [feed.fill(fetchPage, 1, { signal: leaving.signal }), feed.fill(fetchPage, 1)];
    await settled();
    leaving.abort();
    await runs[0];
    const third = feed.fill(fetchPage, 1);
    await settled();
    expect(waiting.map(({ page }) => page)).toEqual([0]);
    waiting[0]?.bring(pageOf("a"));
    expect([idsIn(await third), idsIn(await (runs[1] ?? third))]).toEqual([["a"], ["a"]]);
  });

  test("by the last caller's signal", async () => {
    const { feed } = await feedWith();
    const { waiting, fetchPage } = gatedSource();
    const controller = new AbortController();
    const running = feed.fill(fetchPage, 2, { signal: controller.signal });
    await settled();
    controller.abort();
    expect(await running).toMatchObject({ items: [], end: "aborted" });
    expect(waiting[0]?.signal.aborted).toBe(true);
    // The list is as it was: the next run asks for the same page.
    const next = feed.fill(fetchPage, 1);
    await settled();
    waiting[1]?.bring(pageOf("a"));
    expect(idsIn(await next)).toEqual(["a"]);
    expect(waiting.map(({ page }) => page)).toEqual([0, 0]);
  });

  test("by no signal: null is none", async () => {
    const { feed } = await feedWith();
    const { fetchPage } = sourceOf(pageOf("a"));
    expect(idsIn(await feed.fill(fetchPage, 1, { signal: null }))).toEqual(["a"]);
  });

  test("before it begins, by a signal that has aborted already", async () => {
    const { feed } = await feedWith();
    const { asked, fetchPage } = sourceOf(pageOf("a"));
    expect(await feed.fill(fetchPage, 1, { signal: AbortSignal.abort() })).toMatchObject({ items: [], end: "aborted" });
    await settled();
    expect(asked).toEqual([]);
    expect(idsIn(await feed.fill(fetchPage, 1))).toEqual(["a"]);
  });
});

describe("an error while filling", () => {
  const failing = new Error("no network");
  const unreadable = {
    get items(): Item[] {
      throw failing;
    },
  };
  for (const [how, fail] of [
    ["a rejected request", () => Promise.reject(failing)],
    [
      "a request that throws",
      () => {
        throw failing;
      },
    ],
    ["a page that cannot be read", () => Promise.resolve(unreadable)],
  ] as const) {
    test(`leaves what came before it to the next run, which asks for that page again: ${how}`, async () => {
      const { feed } = await feedWith("b");
      const asked: number[] = [];
      const fetchPage = ({ page }: PageRequest): Promise<FeedPage<Item>> => {
        asked.push(page);
        return page === 0
          ? Promise.resolve(pageOf("a", "b"))
          : asked.length < 4
            ? fail()
            : Promise.resolve(pageOf("c"));
      };
      const failed = { items: [], repeated: 0, end: "error", error: failing, done: false, next: undefined };
      const options = { signal: new AbortController().signal };
      expect(await feed.fill(fetchPage, 3, options)).toEqual({ ...failed, pages: 1, stopped: 1 });
      expect(await feed.fill(fetchPage, 3)).toEqual({ ...failed, pages: 0, stopped: 0 });
      expect(await feed.fill(fetchPage, 2)).toMatchObject({ items: [{ id: "a" }, { id: "c" }], pages: 1, stopped: 0 });
      expect(asked).toEqual([0, 1, 1, 1]);
    });
  }

  test("leaves it to a run that wants nothing and fetches nothing, too, until a reset", async () => {
    const { feed } = await feedWith();
    const asked: number[] = [];
    const fetchPage = ({ page }: PageRequest) => {
      asked.push(page);
      return page === 0 ? Promise.resolve({ ...pageOf("a"), next: "more" }) : Promise.reject(failing);
    };
    expect(await feed.fill(fetchPage, 3)).toMatchObject({ items: [], end: "error", next: "more" });
    expect(await feed.fill(fetchPage, 0)).toMatchObject({ items: [{ id: "a" }], end: "filled", done: false });
    expect(await feed.fill(fetchPage, 0)).toMatchObject({ items: [] });
    feed.reset();
    expect(await feed.fill(fetchPage, 3)).toMatchObject({ end: "error" });
    feed.reset();
    expect(await feed.fill(fetchPage, 0)).toMatchObject({ items: [] });
    expect(asked).toEqual([0, 1, 0, 1]);
  });

  test("of the app's own options is thrown", async () => {
    const { feed } = await feedWith();
    const { fetchPage } = sourceOf();
    for (const [source, want, options] of [
      [undefined, 1, {}],
      [fetchPage, -1, {}],
      [fetchPage, NaN, {}],
      [fetchPage, "3", {}],
      [fetchPage, 1, { maxPages: 0 }],
    ] as const) {
      await expect(feed.fill(source as never, want as never, options)).rejects.toMatchObject({
        code: "bad-option",
      });
    }
  });
});

describe("a page's next", () => {
  test("is the next request's cursor, whatever it is, and null ends the source for good", async () => {
    const { feed } = await feedWith();
    const asked: [number, unknown][] = [];
    const fetchPage = ({ page, cursor }: PageRequest<{ after: number }>) => {
      asked.push([page, cursor]);
      return Promise.resolve({ ...pageOf(`item-${String(page)}`), next: page < 2 ? { after: page } : null });
    };
    expect(await feed.fill(fetchPage, 5)).toMatchObject({ pages: 3, end: "exhausted" });
    expect(asked).toEqual([
      [0, undefined],
      [1, { after: 0 }],
      [2, { after: 1 }],
    ]);
    expect(await feed.fill(fetchPage, 5)).toMatchObject({ items: [], pages: 0, end: "exhausted", done: true });
    expect(asked).toHaveLength(3);
    feed.reset();
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ items: [{ id: "item-0" }], end: "filled" });
    expect(asked.at(-1)).toEqual([0, undefined]);
  });

  test("lets an empty page be followed by others, of which each counts", async () => {
    const { feed } = await feedWith();
    const fetchPage = ({ page }: PageRequest) =>
      Promise.resolve(page < 3 ? { items: [], next: `page ${String(page + 1)}` } : pageOf("a"));
    expect(await feed.fill(fetchPage, 1, { maxPages: 3 })).toMatchObject({ items: [], pages: 3, end: "max-pages" });
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ items: [{ id: "a" }], pages: 1, end: "filled" });
  });

  test("that is null on a page that fills the list ends the next run", async () => {
    const { feed } = await feedWith();
    const { fetchPage } = sourceOf({ ...pageOf("a"), next: null });
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ end: "filled" });
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ pages: 0, end: "exhausted" });
  });

  test("is kept where the page was not taken: a request that fails is made again with the same cursor", async () => {
    const { feed } = await feedWith();
    const asked: unknown[] = [];
    const fetchPage = ({ cursor }: PageRequest) => {
      asked.push(cursor);
      if (asked.length === 2) throw new Error("no network");
      return Promise.resolve({ ...pageOf(`item-${String(asked.length)}`), next: "more" });
    };
    expect(await feed.fill(fetchPage, 2)).toMatchObject({ end: "error" });
    expect(idsIn(await feed.fill(fetchPage, 2))).toEqual(["item-1", "item-3"]);
    expect(asked).toEqual([undefined, "more", "more"]);
  });
});

test("each request tells what the device holds and what is pending, as of then", async () => {
  const { guard, feed } = await feedWith();
  const snapshot = await shippedSnapshot(["a"]);
  const asked: PageRequest["headers"][] = [];
  const known: typeof asked = [];
  const fetchPage = ({ page, headers }: PageRequest) => {
    asked.push(headers);
    known.push(guard.headers());
    guard.record("b");
    return Promise.resolve({ ...pageOf(`item-${String(page)}`), snapshot });
  };
  await feed.fill(fetchPage, 2);
  expect(asked).toEqual(known);
  const tellsPending = (headers: Record<string, string>) => !headers["Seen-Pending"]?.endsWith(".");
  expect(asked.map((headers) => ["Seen-Held" in headers, tellsPending(headers)])).toEqual([
    [false, false],
    [true, true],
  ]);
  expect(heldBy(guard)).toMatch(/^[0-9a-f]{12}$/);
});

describe("fill that puts what was seen last", () => {
  async function smallPool(...recorded: string[]) {
    const opened = await openGuard();
    recordInTurn(opened.guard, recorded);
    return { ...opened, feed: opened.guard.feed({ seen: "last" }) };
  }

  test("brings it when the source is exhausted, those seen longest ago first, until enough is there", async () => {
    const { feed } = await smallPool("first", "second", "third");
    const { fetchPage } = sourceOf(pageOf("third", "a"), { ...pageOf("first", "b", "second"), next: null });
    const result = await feed.fill(fetchPage, 4);
    expect(idsIn(result)).toEqual(["a", "b", "first", "second"]);
    expect(result).toMatchObject({ repeated: 2, pages: 2, stopped: 1, end: "exhausted", done: false });
    const rest = await feed.fill(fetchPage, 4);
    expect(idsIn(rest)).toEqual(["third"]);
    expect(rest).toMatchObject({ repeated: 1, pages: 0, stopped: 0, end: "exhausted", done: true });
    expect(await feed.fill(fetchPage, 4)).toMatchObject({ items: [], repeated: 0 });
  });

  test("brings it when it has fetched as many pages as it may, and goes on from there", async () => {
    const { feed } = await smallPool("first", "second", "third");
    const { asked, fetchPage } = sourceOf(pageOf("third", "a"), pageOf("second"), pageOf("first", "b"));
    const result = await feed.fill(fetchPage, 2, { maxPages: 2 });
    expect(idsIn(result)).toEqual(["a", "second"]);
    expect(result).toMatchObject({ repeated: 1, stopped: 1, end: "max-pages" });
    // "third" was left over: it is counted where it was left out.
    const next = await feed.fill(fetchPage, 3, { maxPages: 1 });
    expect(idsIn(next)).toEqual(["b", "first", "third"]);
    expect(next).toMatchObject({ repeated: 2, stopped: 0, end: "max-pages" });
    expect(asked).toEqual([0, 1, 2]);
  });

  test("leaves it out as long as there is enough that is fresh", async () => {
    const { feed } = await smallPool("seen");
    const { fetchPage } = sourceOf(pageOf("seen", "a"), pageOf("b", "seen"));
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ items: [{ id: "a" }], repeated: 0, stopped: 1 });
    expect(await feed.fill(fetchPage, 1)).toMatchObject({ items: [{ id: "b" }], repeated: 0, stopped: 1 });
    const last = await feed.fill(fetchPage, 5);
    expect(last).toMatchObject({ items: [{ id: "seen" }], repeated: 1, stopped: 0, end: "exhausted" });
  });

  test("leaves it out as well where a page brings more than was wanted", async () => {
    const { feed } = await smallPool("first", "second", "third");
    const { fetchPage } = sourceOf({ ...pageOf("first", "second", "a", "b", "c", "third"), next: null });
    const result = await feed.fill(fetchPage, 2);
    expect(idsIn(result)).toEqual(["a", "b", "c"]);
    expect(result).toMatchObject({ repeated: 0, stopped: 3, end: "filled" });
  });

  test("brings a seen item once, though several pages have it, by any of its ids", async () => {
    const { feed } = await smallPool("original");
    const idOf = ({ id, of }: { id: string; of?: string }) => [id, of];
    const pages = [{ items: [{ id: "original" }, { id: "repost", of: "original" }] }, { items: [{ id: "original" }] }];
    const result = await feed.fill(({ page }) => Promise.resolve(pages[page] ?? null), 9, { id: idOf });
    expect(result).toMatchObject({ items: [{ id: "original" }], repeated: 1, stopped: 2 });
  });

  test("shows the list that it brought in the same order when it is rendered, whatever is recorded since", async () => {
    const { guard, feed } = await smallPool("first", "second", "third", "fourth");
    const { fetchPage } = sourceOf(pageOf("fourth", "second", "a"), pageOf("third", "b", "first"));
    const { items } = await feed.fill(fetchPage, 9);
    expect(items.map(({ id }) => id)).toEqual(["a", "b", "first", "second", "third", "fourth"]);
    guard.record(["third", "first", "a"]);
    expect(feed.filter(items)).toEqual(items);
  });

  test("forgets what it held back at a reset, and keeps it when the run is ended or fails", async () => {
    const { feed } = await smallPool("seen");
    const failing = ({ page }: PageRequest) =>
      page === 0 ? Promise.resolve(pageOf("seen")) : Promise.reject(new Error("no network"));
    expect(await feed.fill(failing, 5)).toMatchObject({ items: [], repeated: 0, stopped: 1, end: "error" });
    expect(await feed.fill(() => Promise.resolve(null), 5)).toMatchObject({ items: [{ id: "seen" }], repeated: 1 });
    await feed.fill(failing, 5);
    feed.reset();
    expect(await feed.fill(() => Promise.resolve(null), 5)).toMatchObject({ items: [], repeated: 0 });
  });

  test("brings what was taken back meanwhile before the rest", async () => {
    const { guard, feed } = await smallPool("first", "second");
    const { waiting, fetchPage } = gatedSource();
    const running = feed.fill(fetchPage, 9);
    await settled();
    waiting[0]?.bring(pageOf("first", "second"));
    await settled();
    guard.unsee("second");
    waiting[1]?.bring(null);
    expect(idsIn(await running)).toEqual(["second", "first"]);
  });
});

test("fill on a guard that lets everything pass brings everything", async () => {
  const { guard } = await openGuard();
  await guard.close();
  const { fetchPage } = sourceOf(pageOf(...idsOf("a", 3)));
  expect(idsIn(await guard.feed().fill(fetchPage, 3))).toEqual(idsOf("a", 3));
});
