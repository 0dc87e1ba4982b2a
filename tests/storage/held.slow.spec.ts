/** The snapshot in use across visits in a browser: what a page holds and filters by before any response. */
import type { Page } from "@playwright/test";
import { ShardChain } from "seenguard/server";
import {
  apply,
  codes,
  expect,
  flush,
  fresh,
  held,
  idsOf,
  keysInIndexedDb,
  NAMESPACE,
  openGuard,
  record,
  test,
  visit,
} from "../support/pages.js";

/** A chain of five shards of ten ids each; they are stopped by no other shard. */
async function fiveShards(prefix: string): Promise<{ chain: ShardChain; ids: string[] }> {
  const chain = await ShardChain.create({ capacity: 10, shards: 5 });
  const ids = idsOf(prefix, 50);
  chain.record(ids);
  return { chain, ids };
}

/** The shards of a snapshot that are no references. */
function textsIn({ shards }: { shards: string[] }): string[] {
  return shards.filter((shard) => !shard.startsWith("~"));
}

/** How many snapshots are stored. */
const snapshotsIn = async (page: Page) => (await keysInIndexedDb(page)).filter((key) => key.endsWith("/h")).length;

/** Ends the visit, and opens a guard on the next one. */
async function nextVisit(page: Page): Promise<void> {
  await flush(page);
  await page.reload();
  await openGuard(page);
}

test.describe("the snapshot in use", () => {
  test("i2: filters a cached page on the next visit, and its shards are not sent again", async ({ page, site }) => {
    const { chain, ids } = await fiveShards("seen");
    await visit(page, site);
    await apply(page, chain.snapshot());
    const names = await held(page);
    expect(names).toMatch(/^([0-9a-f]{12}\.){4}[0-9a-f]{12}$/);

    await nextVisit(page);
    expect(await fresh(page, [...ids, "new"])).toEqual(["new"]);
    expect(await held(page)).toBe(names);
    chain.record("seen elsewhere");
    const response = chain.snapshot({ held: await held(page) });
    expect(textsIn(response)).toHaveLength(1);
    expect(await apply(page, response)).toMatchObject({ applied: true });

    await nextVisit(page);
    expect(await fresh(page, [...ids.slice(10), "seen elsewhere", "new"])).toEqual(["new"]);
    expect(textsIn(chain.snapshot({ held: await held(page) }))).toEqual([]);
    expect(await codes(page)).toEqual([]);
    chain.free();
  });

  test("is that of the tab that wrote last, and each tab goes on with its own", async ({ context, site }) => {
    const tabs = [await context.newPage(), await context.newPage()] as const;
    const [ofOne, ofTwo] = [await fiveShards("one"), await fiveShards("two")];
    const all = [...ofOne.ids, ...ofTwo.ids];
    for (const tab of tabs) await visit(tab, site);
    await apply(tabs[0], ofOne.chain.snapshot());
    await flush(tabs[0]);
    await apply(tabs[1], ofTwo.chain.snapshot());
    await flush(tabs[1]);
    expect(await fresh(tabs[0], all)).toEqual(ofTwo.ids);
    expect(await fresh(tabs[1], all)).toEqual(ofOne.ids);
    const three = await visit(await context.newPage(), site);
    expect(await held(three)).toBe(await held(tabs[1]));
    expect(await fresh(three, all)).toEqual(ofOne.ids);
    // What the first has is written over the second's, and nothing of that stays.
    await apply(tabs[0], ofOne.chain.snapshot({ held: await held(tabs[0]) }));
    await nextVisit(tabs[0]);
    expect(await fresh(tabs[0], all)).toEqual(ofTwo.ids);
    for (const { chain } of [ofOne, ofTwo]) chain.free();
  });

  test("is forgotten with everything else when another tab clears", async ({ context, site }) => {
    const [one, two] = [await context.newPage(), await context.newPage()];
    const { chain, ids } = await fiveShards("seen");
    for (const page of [one, two]) await visit(page, site);
    await apply(one, chain.snapshot());
    await flush(one);
    await two.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    await expect.poll(() => held(one)).toBe("");
    expect(await fresh(one, ids)).toEqual(ids);
    await nextVisit(one);
    expect(await held(one)).toBe("");
    expect(await fresh(one, ids)).toEqual(ids);
    chain.free();
  });
});

test("five stored shards cost an opening no transaction more", async ({ page, site }) => {
  await page.addInitScript(() => {
    const counted = window as unknown as { transactions: number };
    counted.transactions = 0;
    // oxlint-disable-next-line typescript/unbound-method -- It is called on whatever it is asked of.
    const { transaction } = IDBDatabase.prototype;
    IDBDatabase.prototype.transaction = function (...given) {
      counted.transactions++;
      return transaction.apply(this, given);
    };
  });
  const transactionsOfOpen = async () => {
    await flush(page);
    await page.reload();
    return page.evaluate(async (namespace) => {
      window.guard = await Seenguard.SeenGuard.open({ namespace });
      return (window as unknown as { transactions: number }).transactions;
    }, NAMESPACE);
  };
  await visit(page, site);
  await record(page, ["a"]);
  const before = await transactionsOfOpen();
  const { chain } = await fiveShards("seen");
  await apply(page, chain.snapshot());
  const after = await transactionsOfOpen();
  expect(await snapshotsIn(page)).toBe(1);
  expect(await held(page)).not.toBe("");
  expect(after).toBe(before);
  chain.free();
});
