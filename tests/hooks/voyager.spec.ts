/** A client like Voyager: its own pager, a store outside of components, several accounts, a sign-out from anywhere. */
import { readFileSync } from "node:fs";
import { expect, idsOfPages, test, type Reader } from "./pages.js";

/** Signs in as an account, and waits for its list. */
async function enter(reader: Reader, account: string): Promise<void> {
  await reader.press(account);
  await expect(reader.page.locator("h1")).toHaveText(account);
  await expect(reader.items.last()).toHaveText("item-9");
}

const deliveredFor = (reader: Reader, account: string) =>
  reader.delivered.flatMap((each) => (each.startsWith(`${account} `) ? [each.slice(account.length + 1)] : []));

test("each account is shown what it has not seen, and reports for itself only", async ({ reader }) => {
  await reader.open("/voyager");
  await expect(reader.items).toHaveText(idsOfPages(0));
  await reader.haveSeen(["item-0", "item-1"]);
  await expect.poll(() => deliveredFor(reader, "ada")).toEqual(expect.arrayContaining(["item-0", "item-1"]));
  await enter(reader, "grace");
  expect(await reader.ids()).toEqual(idsOfPages(0));
  await reader.items.nth(5).scrollIntoViewIfNeeded();
  await reader.haveSeen(["item-5"]);
  await expect.poll(() => deliveredFor(reader, "grace")).toContain("item-5");
  await enter(reader, "ada");
  const shown = await reader.ids();
  expect(shown).not.toContain("item-0");
  expect(shown).toContain("item-5");
  expect(deliveredFor(reader, "ada")).not.toContain("item-5");
  expect(reader.complaints).toEqual([]);
});

test("a refresh and more pages leave out seen items, and do not change the items on the screen", async ({ reader }) => {
  await reader.open("/voyager");
  await expect(reader.items).toHaveText(idsOfPages(0));
  await reader.haveSeen(["item-0", "item-1"]);
  await reader.press("More");
  await expect(reader.items).toHaveText(idsOfPages(0, 1));
  const seen = await reader.seen(idsOfPages(0, 1));
  await reader.press("Refresh");
  await expect(reader.items.first()).not.toHaveText("item-0");
  await expect(reader.items.last()).toHaveText(idsOfPages(0).findLast((id) => !seen.includes(id)) ?? "");
  expect((await reader.ids()).filter((id) => seen.includes(id))).toEqual([]);
  expect(reader.complaints).toEqual([]);
});

test("a sign-out outside of components delivers, deletes, and sends nothing afterwards", async ({ reader }) => {
  await reader.open("/voyager");
  await expect(reader.items).toHaveText(idsOfPages(0));
  await reader.haveSeen(["item-0", "item-1"]);
  const seen = await reader.seen(idsOfPages(0));
  await reader.page.evaluate(() => window.signOut());
  await expect(reader.page.locator("h1")).toHaveText("Nobody");
  expect(deliveredFor(reader, "ada").toSorted()).toEqual(seen);
  const before = reader.delivered.length;
  await enter(reader, "grace");
  await reader.haveSeen(["item-0"]);
  await expect.poll(() => deliveredFor(reader, "grace")).toContain("item-0");
  expect(reader.delivered.slice(before).filter((each) => each.startsWith("ada "))).toEqual([]);
  await enter(reader, "ada");
  expect(await reader.ids()).toEqual(idsOfPages(0));
  expect(reader.complaints).toEqual([]);
});

test("the client has at most 30 lines for Seenguard", () => {
  const glue = readFileSync(new URL("apps/react/voyager/seen.ts", import.meta.url), "utf8");
  const lines = glue.split("\n").filter((line) => line.trim() !== "" && !/^\s*(\/\*\*|\*|\/\/)/.test(line));
  expect(lines.length).toBeLessThanOrEqual(30);
});
