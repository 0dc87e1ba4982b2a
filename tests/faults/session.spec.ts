/** Whose session a delivery goes out in: two tabs share one cookie, and one of them is still the last person's. */
import type { BrowserContext, Page } from "@playwright/test";
import { codes, expect, record, report, test, visit } from "./pages.js";
import type { Site } from "./site.js";

/** What a server has recorded, by person: it compares the session with the namespace, and refuses what is another's. */
function recordBySession(site: Site): Map<string, string[]> {
  const recorded = new Map<string, string[]>();
  site.answer = ({ cookie = "", namespace, impressions }) => {
    const person = /session=(\w+)/.exec(cookie)?.[1] ?? "";
    if (namespace !== `home:${person}`) return { status: 409 };
    const ids = recorded.get(person) ?? [];
    recorded.set(person, [...ids, ...impressions.map(({ id }) => id)]);
    return { status: 204 };
  };
  return recorded;
}

const signIn = (context: BrowserContext, site: Site, person: string) =>
  context.addCookies([{ name: "session", value: person, url: site.origin }]);

/** A new document of a person who is signed in. */
async function openTab(context: BrowserContext, site: Site, person: string): Promise<Page> {
  const page = await visit(await context.newPage(), site, { namespace: `home:${person}` });
  await report(page);
  return page;
}

test("reports of a tab whose user has signed out are refused by 409, and kept for that user", async ({
  context,
  site,
}) => {
  const recorded = recordBySession(site);
  await signIn(context, site, "ada");
  const left = await openTab(context, site, "ada");
  await record(left, ["by ada"]);
  await expect.poll(() => recorded.get("ada")).toEqual(["by ada"]);

  await signIn(context, site, "bob");
  const other = await openTab(context, site, "bob");
  await record(other, ["by bob"]);
  await record(left, ["by ada, signed out"]);
  await expect.poll(() => codes(left)).toEqual(["delivery"]);
  await expect.poll(() => recorded.get("bob")).toEqual(["by bob"]);
  await record(left, ["by ada, later"]);
  expect(await left.evaluate(() => window.guard.flush())).toEqual({ delivered: 0, left: 2 });
  expect(recorded.get("bob")).toEqual(["by bob"]);
  expect(await codes(left)).toEqual(["delivery"]);

  // The tab that has waited delivers when it is looked at again.
  await signIn(context, site, "ada");
  await left.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await expect.poll(() => recorded.get("ada")).toEqual(["by ada", "by ada, signed out", "by ada, later"]);
  expect(recorded.get("bob")).toEqual(["by bob"]);
});

test("impressions delivered before signing out go to their own user", async ({ context, site }) => {
  const recorded = recordBySession(site);
  await signIn(context, site, "ada");
  const page = await visit(await context.newPage(), site, { namespace: "home:ada" });
  await report(page, { intervalMs: 10_000_000 });
  await record(page, ["a", "b"]);
  const outcome = await page.evaluate(async () => {
    const outcome = await window.guard.flush();
    await Seenguard.SeenGuard.clear("home:ada");
    return outcome;
  });
  await signIn(context, site, "bob");
  expect(outcome).toEqual({ delivered: 2, left: 0 });
  expect(recorded.get("ada")).toEqual(["a", "b"]);
  expect(await page.evaluate(() => window.guard.filter(["a", "b"]))).toEqual(["a", "b"]);
});
