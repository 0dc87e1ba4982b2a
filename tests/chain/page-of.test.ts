/** Pages of a ranked list, while impressions arrive and the list changes. */
import { pageOf, ShardChain, type IdOf, type Page, type PageOptions } from "seenguard/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { heldBy, idsOf, NOW, openGuard, Random } from "../support/node.js";

async function chainWith(ids: readonly string[], options = {}): Promise<ShardChain> {
  const chain = await ShardChain.create(options);
  onTestFinished(() => chain.free());
  chain.record(ids, { now: NOW });
  return chain;
}

/** All pages of a list, with what happens before each next one. */
function pagesOf<T>(
  chain: ShardChain,
  listOf: (page: number) => readonly T[],
  options: PageOptions & { id?: IdOf<T> },
  between: (page: Page<T>) => void = () => undefined,
): T[][] {
  const pages: T[][] = [];
  for (let cursor: string | null = null; ;) {
    const page: Page<T> = pageOf(chain, listOf(pages.length), { id: (item: T) => item as string, ...options, cursor });
    pages.push(page.items);
    cursor = page.next;
    if (cursor === null) return pages;
    expect(cursor).toMatch(/^[\w.~-]+$/);
    expect(pages.length).toBeLessThan(1000);
    between(page);
  }
}

describe("pages of fresh items", () => {
  test("end where nothing fresh is left, without an empty page", async () => {
    const chain = await chainWith(idsOf("seen", 50));
    expect(pagesOf(chain, () => [...idsOf("new", 14), ...idsOf("seen", 50)], { size: 7 })).toHaveLength(2);
    expect(pagesOf(chain, () => idsOf("seen", 50), { size: 7 })).toEqual([[]]);
    expect(pagesOf(chain, () => [], { size: 7 })).toEqual([[]]);
  });

  test("contain the snapshot that the items were filtered against, with references", async () => {
    const chain = await chainWith(["a"]);
    const { guard } = await openGuard();
    const first = pageOf(chain, ["a", "b"], { size: 5, now: NOW });
    expect(first).toEqual({ items: ["b"], next: null, snapshot: chain.snapshot({ now: NOW }) });
    guard.apply(first.snapshot);
    const again = pageOf(chain, ["a", "b"], { size: 5, held: heldBy(guard) });
    expect(again.snapshot.shards).toEqual([expect.stringMatching(/^~[0-9a-f]{12}$/)]);
    expect(guard.apply(again.snapshot)).toMatchObject({ applied: true });
  });

  test("leave out items that the device has shown and not reported", async () => {
    const chain = await chainWith(["a"]);
    const { guard } = await openGuard();
    guard.record(["b", "c"]);
    const pending = guard.headers()["Seen-Pending"];
    expect(pageOf(chain, ["a", "b", "c", "d"], { size: 5, pending }).items).toEqual(["d"]);
    expect(pageOf(chain, ["a", "b", "c", "d"], { size: 5, pending: "what is this" }).items).toEqual(["b", "c", "d"]);
  });
});

describe("a cursor", () => {
  test("that is invalid selects the first page", async () => {
    const chain = await chainWith([]);
    const none = [undefined, null, "", "what is this", "1", "%", "z".repeat(5000), "1.2.3", 7, ["1.a", "2.b"], {}];
    for (const cursor of none as string[])
      expect(pageOf(chain, idsOf("item", 9), { size: 2, cursor }).items, cursor).toEqual(idsOf("item", 2));
  });

  test("far after the list's end returns an empty last page at once", async () => {
    const chain = await chainWith([]);
    const started = performance.now();
    const page = pageOf(chain, idsOf("item", 9), { size: 2, cursor: "zzzzzzzz.abcdef" });
    expect(page).toMatchObject({ items: [], next: null });
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe('pages with repeats: "last"', () => {
  const last = { repeats: "last" } as const;

  test("have the fresh items, then the seen ones, those seen longest ago first, and each once", async () => {
    const chain = await chainWith([...idsOf("old", 10), ...idsOf("new", 3)], { capacity: 10 });
    const ranked = [...idsOf("new", 3), ...idsOf("fresh", 12), ...idsOf("old", 10)];
    const expected = [...idsOf("fresh", 12), ...idsOf("old", 10), ...idsOf("new", 3)];
    for (const share of [0, 0.5, 1]) {
      const random = new Random(5);
      const again = await ShardChain.from(chain.snapshot(), { capacity: 10, shards: 20 });
      const pages = pagesOf(
        again,
        () => ranked,
        { ...last, size: 5 },
        ({ items }) => {
          again.record(items.filter(() => random.next() < share));
        },
      );
      again.free();
      expect(pages).toHaveLength(5);
      expect(pages.slice(0, 2).flat()).toEqual(idsOf("fresh", 10));
      expect(pages.flat().toSorted()).toEqual(expected.toSorted());
      if (share === 0) expect(pages.flat()).toEqual(expected);
    }
  });
});

describe("arguments that pageOf refuses", () => {
  test.each([
    ["a size of 0", { size: 0 }],
    ["a size that is not a number, as of a query without one", { size: NaN }],
    ["no size", {}],
    ["milliseconds", { size: 5, now: NOW * 1000 }],
    ["an unknown option", { size: 5, offset: 10 }],
    ["another order of seen ones", { size: 5, repeats: "first" }],
  ])("%s", async (_, options) => {
    const chain = await chainWith([]);
    expect(() => pageOf(chain, ["a"], options as PageOptions)).toThrow(
      expect.objectContaining({ code: "bad-option" }) as Error,
    );
  });

  test("a chain or a list that was not awaited, with a message about it", async () => {
    const chain = await chainWith([]);
    const promised = Promise.resolve(chain) as unknown as ShardChain;
    expect(() => pageOf(promised, ["a"], { size: 5 })).toThrow(/is it awaited/);
    expect(() => pageOf(chain, Promise.resolve(["a"]) as unknown as string[], { size: 5 })).toThrow(/is it awaited/);
  });
});
