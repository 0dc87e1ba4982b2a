/** `feed.fill`: pages are fetched into one buffer, calls queue and empty it; no item is lost, however a call ends. */
import type { FeedPage, FillOptions, FillResult, PageRequest, Snapshot } from "seenguard";
import { openTestGuard } from "seenguard/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { passingFeed } from "../../js/feed/feed.js";
import { never } from "../support/clocks.js";
import { fallback, heldBy, idsOf, openGuard, ON_ENGINE, settled, shippedSnapshot } from "../support/node.js";

interface Item {
  readonly id: string;
}

const pageOf = (...ids: string[]): FeedPage<Item> => ({ items: ids.map((id) => ({ id })) });
const idsIn = ({ items }: FillResult<Item>) => items.map(({ id }) => id);

/** A source of pages that records the requests. */
function sourceOf(...pages: (FeedPage<Item> | null)[]) {
  const requested: number[] = [];
  const fetchPage = ({ page }: PageRequest) => {
    requested.push(page);
    return Promise.resolve(pages[page] ?? null);
  };
  return { requested, fetchPage };
}

/** A source whose pages the test resolves. */
function gatedSource() {
  const waiting: { page: number; signal: AbortSignal; bring: (page: FeedPage<Item> | null) => void }[] = [];
  const fetchPage = ({ page, signal }: PageRequest) =>
    new Promise<FeedPage<Item> | null>((bring) => {
      waiting.push({ page, signal, bring });
    });
  /** Resolves when this number of pages has been requested in all. */
  const requested = async (count: number): Promise<void> => {
    while (waiting.length < count) await settled();
  };
  return { waiting, fetchPage, requested };
}

/** A source with the same result for each request, and the number of requests. */
function constant(answer: () => unknown) {
  const source = {
    requested: 0,
    fetchPage: () => {
      source.requested++;
      return Promise.resolve(answer() as FeedPage<Item>);
    },
  };
  return source;
}

async function feedWith(...recorded: string[]) {
  const opened = await openGuard();
  opened.guard.record(recorded);
  return { ...opened, feed: opened.guard.feed() };
}

describe("fill", () => {
  test("fetches pages until there are enough fresh items, and continues there", async () => {
    const { feed } = await feedWith("b", "d");
    const { requested, fetchPage } = sourceOf(pageOf("a", "b"), pageOf("c", "d"), pageOf("e", "f"), pageOf("g"));
    const first = await feed.fill(fetchPage, 2);
    expect(first).toEqual({ items: [{ id: "a" }, { id: "c" }], end: "filled", done: false, next: undefined });
    const second = await feed.fill(fetchPage, 2);
    expect(idsIn(second)).toEqual(["e", "f"]);
    expect(requested).toEqual([0, 1, 2]);
  });

  test("gets the ids from the option `id`", async () => {
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
    // "c" was fresh by the first page's snapshot, and is shown already when the second one contains it.
    expect(idsIn(result)).toEqual(["c", "b", "d"]);
    expect(guard.stats().version).toBe(2);
  });

  test.each([null, 7, "2026-11-28", { taken: "today" }])(
    "ignores the field snapshot of another API: %j",
    async (snapshot) => {
      const { guard, errors } = await openGuard();
      const page = { ...pageOf("a"), snapshot } as unknown as FeedPage<Item>;
      expect((await guard.feed().fill(() => Promise.resolve(page), 1)).items).toHaveLength(1);
      expect(errors).toEqual([]);
    },
  );

  test("continues after an invalid snapshot, which is reported", async () => {
    const { feed, codes } = await feedWith();
    const page = { ...pageOf("a"), snapshot: { shards: ["!"] } };
    expect(await feed.fill(() => Promise.resolve(page), 1)).toMatchObject({ items: [{ id: "a" }], end: "filled" });
    expect(codes()).toEqual(["bad-snapshot"]);
  });

  test("reports a snapshot whose shards cannot be read, as apply does, and fills", async () => {
    const { feed, codes } = await feedWith();
    const { proxy: shards, revoke } = Proxy.revocable<string[]>([], {});
    revoke();
    const page = { ...pageOf("a"), snapshot: { shards } };
    expect(await feed.fill(() => Promise.resolve(page), 1)).toMatchObject({ items: [{ id: "a" }], end: "filled" });
    expect(codes()).toEqual(["bad-snapshot"]);
  });

  test("accepts an array as a page without `next`", async () => {
    const { feed, codes } = await feedWith("b");
    const { requested, fetchPage } = sourceOf(...([["a", "b"], ["c"], []] as never[]));
    const result = await feed.fill(fetchPage as never, 9);
    expect(result).toEqual({ items: ["a", "c"], end: "exhausted", done: true, next: null });
    expect(requested).toEqual([0, 1, 2]);
    expect(codes()).toEqual([]);
  });

  for (const [what, page, hint] of [
    ["items that are an object", { items: {} }, "has the keys items"],
    ["items that are a string", { items: "abc" }, "has the keys items"],
    ["other fields", { data: [] }, "has the keys data"],
    ["the methods of a Response", new Response("{}"), "Response"],
    ["nothing of a page", 7, "number"],
  ] as const) {
    test(`rejects for a page with ${what}, which is misuse and not the end`, async () => {
      const { feed, codes } = await feedWith();
      const misuse = { code: "misuse", message: expect.stringContaining(hint) as string };
      await expect(feed.fill(() => Promise.resolve(page as never), 1)).rejects.toMatchObject(misuse);
      expect(codes()).toEqual(["misuse"]);
      expect(idsIn(await feed.fill(() => Promise.resolve(pageOf("a")), 1))).toEqual(["a"]);
    });
  }
});

describe("the source has ended", () => {
  for (const [what, last] of [
    ["null", null],
    ["an empty page", pageOf()],
    ["nothing at all", undefined],
    ["a page whose next is null", { ...pageOf("b"), next: null }],
  ] as const) {
    test(`with ${what}: fill reports the end and fetches nothing more until a reset`, async () => {
      const { feed } = await feedWith("a");
      const requested: number[] = [];
      const fetchPage = ({ page }: PageRequest) => {
        requested.push(page);
        return Promise.resolve((page === 0 ? pageOf("a", "b") : last) as FeedPage<Item>);
      };
      expect(await feed.fill(fetchPage, 5)).toEqual({ items: [{ id: "b" }], end: "exhausted", done: true, next: null });
      expect(await feed.fill(fetchPage, 5)).toEqual({ items: [], end: "exhausted", done: true, next: null });
      expect(requested).toEqual([0, 1]);
      feed.reset();
      expect(await feed.fill(fetchPage, 1)).toMatchObject({ items: [{ id: "b" }], done: false, next: undefined });
    });
  }

  const reused = [{ id: "a" }, { id: "seen" }, { id: "b" }];
  for (const [what, answer] of [
    ["a static source", () => pageOf("a", "seen", "b")],
    ["an array that is used again", () => reused],
    ["a page that is used again", () => ({ items: reused })],
    ["a cursor that does not move", () => ({ ...pageOf("a", "seen", "b"), next: "the same" })],
  ] as const) {
    test(`with three pages in a row without a new id: ${what}`, async () => {
      const { feed } = await feedWith("seen");
      const source = constant(answer);
      const first = await feed.fill(source.fetchPage, 1);
      expect(idsIn(first)).toEqual(["a", "b"]);
      expect(first).toMatchObject({ end: "filled", done: false });
      expect(await feed.fill(source.fetchPage, 1)).toEqual({ items: [], end: "exhausted", done: true, next: null });
      expect(source.requested).toBe(4);
      await feed.fill(source.fetchPage, 1);
      expect(source.requested).toBe(4);
    });
  }
});

describe("fill stops", () => {
  const seenPages = () => {
    let page = 0;
    return constant(() => ({ ...pageOf("seen"), next: String(++page) }));
  };

  test("after five pages with too few items, and after twenty without any", async () => {
    const { feed } = await feedWith("seen");
    const { requested, fetchPage } = sourceOf(...idsOf("fresh", 30).map((id) => pageOf(id)));
    const some = await feed.fill(fetchPage, 9);
    expect(some).toMatchObject({ end: "max-pages", done: false });
    expect(some.items).toHaveLength(5);
    expect(requested).toHaveLength(5);
    const source = seenPages();
    expect(await feed.fill(source.fetchPage, 1)).toMatchObject({ items: [], end: "max-pages", next: "20" });
    expect(source.requested).toBe(20);
  });

  test("never by itself with an infinite `maxPages`, and yields to the event loop between pages of a synchronous source", async () => {
    const { feed } = await feedWith();
    let cursor = 0;
    // It ends eventually, so that a fill that does not yield fails this test instead of hanging it.
    const fetchPage = () => (cursor < 100_000 ? { ...pageOf(), next: ++cursor } : null);
    const controller = new AbortController();
    const options = { maxPages: Infinity, signal: controller.signal };
    const filling = feed.fill(fetchPage as never, 1, options as FillOptions);
    setTimeout(() => controller.abort());
    await expect(filling).rejects.toMatchObject({ name: "AbortError" });
    expect(cursor).toBeGreaterThan(0);
  });

  test("after two degraded pages in a row", async () => {
    const { feed } = await feedWith("seen");
    const degraded = { ...pageOf("seen"), degraded: true };
    const pages = [degraded, pageOf("a"), degraded, degraded, pageOf("b")];
    const { requested, fetchPage } = sourceOf(...pages.map((page, next) => ({ ...page, next: String(next) })));
    expect(await feed.fill(fetchPage, 9)).toEqual({ items: [{ id: "a" }], end: "degraded", done: false, next: "3" });
    expect(requested).toEqual([0, 1, 2, 3]);
    expect(idsIn(await feed.fill(fetchPage, 1))).toEqual(["b"]);
  });
});

describe("concurrent calls of fill", () => {
  test("end without a deep stack, however many there are", async () => {
    const { feed } = await feedWith();
    const calls = Array.from({ length: 20_000 }, () => feed.fill(() => Promise.resolve(null), 0));
    expect(new Set((await Promise.all(calls)).map(({ end }) => end))).toEqual(new Set(["filled"]));
  });
});

describe("a call of fill rejects", () => {
  test("with its signal's reason, alone: the next one begins with the items fetched so far", async () => {
    const { feed } = await feedWith();
    const { waiting, fetchPage, requested } = gatedSource();
    const leaving = new AbortController();
    const first = feed.fill(fetchPage, 2, { signal: leaving.signal });
    const second = feed.fill(fetchPage, 2);
    await settled();
    waiting[0]?.bring(pageOf("a"));
    await requested(2);
    const reason = new Error("the route was left");
    leaving.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(waiting[1]?.signal).toMatchObject({ aborted: true, reason });
    await requested(3);
    expect(waiting.map(({ page }) => page)).toEqual([0, 1, 1]);
    // The page of the aborted call is too late.
    waiting[1]?.bring(pageOf("late"));
    await requested(3);
    waiting[2]?.bring(pageOf("b"));
    expect(idsIn(await second)).toEqual(["a", "b"]);
    expect(waiting[2]?.signal.aborted).toBe(false);
  });

  test("with an AbortError where the platform's signals have no reason", async () => {
    const { feed } = await feedWith();
    const { signal } = new AbortController();
    Object.defineProperty(signal, "reason", { value: undefined });
    Object.defineProperty(signal, "aborted", { value: true });
    await expect(feed.fill(sourceOf().fetchPage, 1, { signal })).rejects.toMatchObject({ name: "AbortError" });
  });

  test("with an AbortError at a reset, as do all others; the buffer is dropped and the list restarts", async () => {
    const { feed } = await feedWith();
    const { waiting, fetchPage, requested } = gatedSource();
    const running = [feed.fill(fetchPage, 5), feed.fill(fetchPage, 5)];
    await settled();
    waiting[0]?.bring({ ...pageOf("a"), next: "1" });
    await requested(2);
    feed.reset();
    for (const call of running) await expect(call).rejects.toMatchObject({ name: "AbortError" });
    expect(waiting[1]?.signal).toMatchObject({ aborted: true, reason: { name: "AbortError" } });
    waiting[1]?.bring(pageOf("late"));
    expect(await feed.fill(fetchPage, 0)).toEqual({ items: [], end: "filled", done: false, next: undefined });
    const again = feed.fill(fetchPage, 1);
    await requested(3);
    expect(waiting.map(({ page }) => page)).toEqual([0, 1, 0]);
    waiting[2]?.bring(pageOf("a"));
    expect(idsIn(await again)).toEqual(["a"]);
  });

  test("at a reset in onLag: the page whose snapshot caused it is not of the new list", async () => {
    const feeds: { reset: () => void }[] = [];
    const { guard } = await openGuard({ onLag: () => feeds[0]?.reset() });
    const feed = guard.feed();
    feeds.push(feed);
    guard.record("seen");
    const page = { ...pageOf("a", "b"), snapshot: await shippedSnapshot(["seen"]) };
    await expect(feed.fill(() => Promise.resolve(page), 1)).rejects.toMatchObject({ name: "AbortError" });
    expect(await feed.fill(() => Promise.resolve(null), 0)).toMatchObject({ items: [] });
    expect(feed.admit(["a", "b"])).toEqual(["a", "b"]);
  });

  test("with an AbortError at the guard's close, as do all others of its feeds; a later one lets everything pass", async () => {
    const { guard, feed } = await feedWith("seen");
    const { waiting, fetchPage, requested } = gatedSource();
    const other = guard.feed();
    const running = [feed.fill(fetchPage, 2), feed.fill(fetchPage, 1), other.fill(fetchPage, 1)];
    for (const call of running) call.catch(() => undefined);
    await settled();
    waiting[0]?.bring(pageOf("fetched"));
    await requested(3);
    await guard.close();
    for (const call of running) await expect(call).rejects.toMatchObject({ name: "AbortError" });
    expect(waiting.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
    const later = await feed.fill(() => Promise.resolve(pageOf("seen", "a", "a")), 2);
    expect(idsIn(later)).toEqual(["fetched", "seen", "a"]);
  });
});

describe("fetchPage has a timeout", () => {
  async function testGuard() {
    const guard = await openTestGuard({ fallback, ...ON_ENGINE });
    onTestFinished(() => guard.close());
    return guard;
  }

  test("of 30 s for each page: then its signal fires, the call fails, and the next one gets the items fetched so far", async () => {
    const guard = await testGuard();
    const feed = guard.feed();
    const { waiting, fetchPage, requested } = gatedSource();
    const first = feed.fill(fetchPage, 2);
    const second = feed.fill(fetchPage, 2);
    await settled();
    guard.advance(20_000);
    waiting[0]?.bring(pageOf("a"));
    await requested(2);
    guard.advance(29_999);
    expect(waiting[1]?.signal.aborted).toBe(false);
    guard.advance(1);
    expect(waiting[1]?.signal.aborted).toBe(true);
    const late = { name: "TimeoutError", message: expect.stringContaining("30 s") as string };
    await expect(first).rejects.toMatchObject(late);
    await settled();
    waiting[1]?.bring(pageOf("late"));
    await requested(3);
    waiting[2]?.bring(pageOf("b"));
    expect(idsIn(await second)).toEqual(["a", "b"]);
  });

  test("or of the option `timeoutMs`", async () => {
    const guard = await testGuard();
    const filling = guard.feed().fill(never, 1, { timeoutMs: 500 });
    await settled();
    guard.advance(500);
    await expect(filling).rejects.toMatchObject({ name: "TimeoutError" });
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
    test(`leaves earlier items to the next call, which requests that page again: ${how}`, async () => {
      const { feed } = await feedWith("b");
      const requested: unknown[] = [];
      const fetchPage = ({ page, cursor }: PageRequest): Promise<FeedPage<Item>> => {
        requested.push([page, cursor]);
        if (page === 0) return Promise.resolve({ ...pageOf("a", "b"), next: "more" });
        return requested.length < 4 ? fail() : Promise.resolve(pageOf("c"));
      };
      await expect(feed.fill(fetchPage, 3, { signal: new AbortController().signal })).rejects.toBe(failing);
      await expect(feed.fill(fetchPage, 3)).rejects.toBe(failing);
      expect(idsIn(await feed.fill(fetchPage, 2))).toEqual(["a", "c"]);
      expect(requested).toEqual([
        [0, undefined],
        [1, "more"],
        [1, "more"],
        [1, "more"],
      ]);
    });
  }

  test("about the app's options is thrown", async () => {
    const { feed } = await feedWith();
    const { fetchPage } = sourceOf();
    for (const [source, want, options] of [
      [undefined, 1, {}],
      [fetchPage, -1, {}],
      [fetchPage, NaN, {}],
      [fetchPage, "3", {}],
      [fetchPage, 1, { maxPages: 0 }],
      [fetchPage, 1, { timeoutMs: 0 }],
      [fetchPage, 1, { timeoutMs: Infinity }],
      [fetchPage, 1, { signal: {} }],
      [fetchPage, 1, { signal: Object.create(AbortSignal.prototype) as AbortSignal }],
    ] as const) {
      await expect(feed.fill(source as never, want as never, options as FillOptions)).rejects.toMatchObject({
        code: "bad-option",
      });
    }
  });
});

test("a page's next is the next request's cursor, of any type", async () => {
  const { feed } = await feedWith();
  const requested: [number, unknown][] = [];
  const fetchPage = ({ page, cursor }: PageRequest<{ after: number }>) => {
    requested.push([page, cursor]);
    return Promise.resolve({ ...pageOf(`item-${String(page)}`), next: page < 2 ? { after: page } : null });
  };
  expect(await feed.fill(fetchPage, 1)).toMatchObject({ end: "filled", done: false, next: { after: 0 } });
  expect(await feed.fill(fetchPage, 5)).toMatchObject({ end: "exhausted", done: true, next: null });
  expect(requested).toEqual([
    [0, undefined],
    [1, { after: 0 }],
    [2, { after: 1 }],
  ]);
});

test("each request has the headers of that moment", async () => {
  const { guard, feed } = await feedWith();
  const snapshot = await shippedSnapshot(["a"]);
  const requested: PageRequest["headers"][] = [];
  const known: typeof requested = [];
  const fetchPage = ({ page, headers }: PageRequest) => {
    requested.push(headers);
    known.push(guard.headers());
    guard.record("b");
    return Promise.resolve({ ...pageOf(`item-${String(page)}`), snapshot });
  };
  await feed.fill(fetchPage, 2);
  expect(requested).toEqual(known);
  expect(requested.map((headers) => Object.keys(headers))).toEqual([[], ["Seen-Held", "Seen-Pending"]]);
  expect(heldBy(guard)).toMatch(/^[0-9a-f]{12}$/);
});

test("a feed without a guard fills, admits and filters: everything passes once", async () => {
  const feed = passingFeed();
  expect(feed.filter(["a", "b", "a"])).toEqual(["a", "b"]);
  expect(feed.admit(["a", "b"])).toEqual(["a", "b"]);
  expect(feed.admit(["b", "c"])).toEqual(["c"]);
  const { fetchPage } = sourceOf(
    { ...pageOf("c", "d"), snapshot: { shards: [] } },
    { ...pageOf("e", "e"), next: null },
  );
  expect(await feed.fill(fetchPage, 2)).toEqual({
    items: [{ id: "d" }, { id: "e" }],
    ...{ end: "filled", done: true, next: null },
  });
  feed.reset();
  expect(feed.admit(["a"])).toEqual(["a"]);
});
