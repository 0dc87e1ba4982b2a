/** The news product as its readers use it: no story that they have seen is repeated, and no other is missing. */
import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "./reader.js";

const common = (some: Iterable<string>, others: Iterable<string>) => {
  const set = new Set(others);
  return [...some].filter((title) => set.has(title));
};

test("i1: no seen story is repeated while the stream is late, on this device or another, nor afterwards", async ({
  name,
  openTab,
  openDevice,
  setStream,
}) => {
  setStream(false);
  const reader = await openTab();
  await reader.signIn(name);
  let reported = new Set<string>();
  for (let visit = 0; visit < 4; visit++) {
    await reader.look();
    await reader.scrollBy(700);
    await reader.look();
    // A refresh reports what this device has shown until then; its own list comes into view after it.
    reported = new Set(reader.seen);
    await reader.refresh();
    expect(common(await reader.everShown(), reader.seen)).toEqual([]);
  }
  expect(reported.size).toBeGreaterThan(25);

  const other = await openDevice();
  await other.signIn(name);
  await other.scrollUntil(36);
  expect(common(await other.everShown(), reported)).toEqual([]);

  setStream(true);
  await expect(async () => {
    await other.refresh();
    expect(common(await other.titles(), reader.seen)).toEqual([]);
  }).toPass();
  expect([...reader.complaints, ...other.complaints]).toEqual([]);
});

test("i4: back navigation from an article shows the same list at the same scroll position", async ({
  name,
  openTab,
}) => {
  const reader = await openTab();
  await reader.signIn(name);
  await reader.readInTheMiddle();
  const [titles, position, read = ""] = [await reader.titles(), await reader.scrollPosition(), [...reader.seen].at(-1)];

  await reader.openStory(read);
  expect(await reader.scrollPosition()).toBe(0);
  await reader.goBack();
  expect(await reader.titles()).toEqual(titles);
  expect(await reader.scrollPosition()).toBe(position);

  await reader.refresh();
  expect(common(await reader.everShown(), reader.seen)).toEqual([]);
  expect(reader.complaints).toEqual([]);
});

test("an article that was opened by its address is not in the list afterwards", async ({ name, openTab }) => {
  const reader = await openTab();
  await reader.signIn(name);
  const [first = ""] = await reader.titles();
  const path = await reader.page.locator(".stories h2 a").first().getAttribute("href");
  await reader.page.goto(new URL(path ?? "", reader.page.url()).href);
  await expect(reader.page.locator("article h1")).toHaveText(first);
  await reader.page.waitForTimeout(1_500);
  await reader.goTo("Stories");
  await reader.refresh();
  expect(await reader.everShown()).not.toContain(first);
  expect(reader.complaints).toEqual([]);
});

test("back navigation from another site shows the same list, and a reload begins a new one", async ({
  name,
  openTab,
}) => {
  const reader = await openTab();
  await reader.signIn(name);
  await reader.readInTheMiddle();
  const [titles, position] = [await reader.titles(), await reader.scrollPosition()];
  await reader.page.goto("about:blank");
  await reader.page.goBack();
  await reader.loaded();
  expect(await reader.titles()).toEqual(titles);
  expect(await reader.scrollPosition()).toBe(position);
  await reader.reload();
  expect(common(await reader.titles(), reader.seen)).toEqual([]);
  expect(reader.complaints).toEqual([]);
});

test("impressions are delivered before signing out, and the next person starts with nothing seen", async ({
  name,
  openTab,
  openDevice,
}) => {
  const reader = await openTab();
  await reader.signIn(name);
  const titles = await reader.titles();
  await reader.look();
  await reader.signOut();
  const changes = reader.changes.filter((change) => !change.includes("history"));
  expect(changes).toEqual([...changes.slice(0, -2), "POST /api/seen 202", "DELETE /api/session 204"]);

  await reader.signIn(`${name} Grace`);
  expect(await reader.titles()).toEqual(titles);

  const other = await openDevice();
  await other.signIn(name);
  await expect(async () => {
    await other.refresh();
    expect(common(await other.titles(), reader.seen)).toEqual([]);
  }).toPass();
  expect(reader.complaints).toEqual([]);
});

test("nothing is recorded for a person who signs in while another's tab is open", async ({
  name,
  openTab,
  openDevice,
}) => {
  const [ada, grace] = [name, `${name} Grace`];
  const left = await openTab();
  await left.signIn(grace);
  await left.signOut();
  await left.signIn(ada);
  const right = await openTab();
  await right.loaded();

  // Nothing of this tab arrives until the other has become Grace's.
  await left.page.route("**/api/seen", (route) => route.abort());
  await left.page.bringToFront();
  await left.scrollUntil(24);
  await left.look();
  const seen = new Set(left.seen);
  expect(seen.size).toBeGreaterThan(3);
  await right.page.bringToFront();
  await right.readAs(grace);
  await left.page.unroute("**/api/seen");
  await expect.poll(() => left.changes).toContain("POST /api/seen 409");
  // She has seen the top of her own list, and nothing of what the other tab shows.
  const herOther = await openDevice();
  await herOther.signIn(grace);
  await herOther.scrollUntil(24);
  const top = (await right.titles()).slice(0, 8);
  const below = [...seen].filter((title) => !top.includes(title));
  expect(below.length).toBeGreaterThan(3);
  expect(common(below, await herOther.titles())).toEqual(below);

  // The tab notices with its next request; what it has stored arrives once the person has signed in again.
  await left.page.bringToFront();
  await left.page.getByRole("button", { name: "Refresh" }).click();
  await expect(left.page.locator("summary")).toHaveText(grace);
  await left.readAs(ada);
  await left.reload();
  await expect
    .poll(() => left.changes.slice(left.changes.indexOf("POST /api/seen 409")))
    .toContain("POST /api/seen 202");
  const other = await openDevice();
  await other.signIn(ada);
  await expect(async () => {
    await other.refresh();
    expect(common(await other.titles(), seen)).toEqual([]);
  }).toPass();
});

test("i1: after a repost its original is not shown, nor a repost after its original", async ({ name, openTab }) => {
  const reader = await openTab();
  await reader.signIn(name);
  await reader.look();
  const repost = reader.page.locator(".stories li", { hasText: "shared" }).first();
  await repost.scrollIntoViewIfNeeded();
  await reader.look();
  const title = (await repost.locator("h2").textContent()) ?? "";
  expect(reader.seen).toContain(title);

  await reader.refresh();
  await reader.scrollUntil(60);
  expect(common(await reader.everShown(), reader.seen)).toEqual([]);
  expect(reader.complaints).toEqual([]);
});

test("a small pool ends with the seen stories, the oldest first, also when the stream is late", async ({
  name,
  openTab,
  setStream,
}) => {
  setStream(false);
  const reader = await openTab();
  await reader.signIn(name);
  await reader.goTo("Lighthouses");
  const all = new Set(await reader.titles());
  expect(all.size).toBe(10);
  reader.seen.clear();
  await reader.look();
  const first = new Set(reader.seen);

  await reader.refresh();
  const afterFirst = await reader.titles();
  expect(new Set(afterFirst)).toEqual(all);
  expect(new Set(afterFirst.slice(-first.size))).toEqual(first);

  await reader.look();
  await reader.refresh();
  const afterSecond = await reader.titles();
  const second = [...reader.seen].filter((title) => !first.has(title));
  expect(second.length).toBeGreaterThan(3);
  const unseen = all.size - reader.seen.size;
  expect(new Set(afterSecond.slice(unseen, unseen + first.size))).toEqual(first);
  expect(new Set(afterSecond.slice(unseen + first.size))).toEqual(new Set(second));
  expect(reader.complaints).toEqual([]);
});

test("a story that was made unseen is in the list again, and no other", async ({ name, openTab }) => {
  const reader = await openTab();
  await reader.signIn(name);
  await reader.look();
  const [read = ""] = await reader.titles();
  await reader.openStory(read);
  await reader.goBack();
  await reader.refresh();
  expect(await reader.titles()).not.toContain(read);

  await reader.goTo("History");
  await reader.page.getByRole("button", { name: "Show again" }).click();
  await expect(reader.page.getByText("You have opened no story yet.")).toBeVisible();
  await reader.goTo("Stories");
  // If the story had been reported, the server offers it once it has the change.
  await expect(async () => {
    await reader.refresh();
    expect(common(await reader.titles(), reader.seen)).toEqual([read]);
  }).toPass();
  expect(reader.complaints).toEqual([]);
});

test("after the history is deleted all stories are shown again, on every device, though reports are late", async ({
  name,
  openTab,
  openDevice,
  setStream,
}) => {
  setStream(false);
  const reader = await openTab();
  await reader.signIn(name);
  const titles = await reader.titles();
  await reader.look();
  const other = await openDevice();
  await other.signIn(name);
  await other.look();
  await other.goTo("History");
  await reader.openStory([...reader.seen][0] ?? "");
  await reader.goTo("History");
  await expect(reader.page.locator(".history li")).toHaveCount(1);
  // Its time is a whole second.
  await reader.page.waitForTimeout(1_100);
  await reader.page.getByRole("button", { name: "Delete history" }).click();
  await expect(reader.page.getByRole("status")).toHaveText("Your history is deleted.");
  await expect(reader.page.locator(".history li")).toHaveCount(0);

  // Earlier reports arrive now.
  setStream(true);
  await reader.page.waitForTimeout(3_000);
  const third = await openDevice();
  await third.signIn(name);
  expect(await third.titles()).toEqual(titles);
  await third.goTo("History");

  await reader.goTo("Stories");
  expect(await reader.titles()).toEqual(titles);
  // Before what is on the screen counts as seen, on the other device, too.
  await reader.goTo("History");
  const otherTab = await other.anotherTab();
  await otherTab.loaded();
  expect(await otherTab.titles()).toEqual(titles);
  expect([...reader.complaints, ...other.complaints, ...third.complaints]).toEqual([]);
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`each page is accessible, ${colorScheme}`, async ({ name, openTab }) => {
    const reader = await openTab();
    const { page } = reader;
    await page.emulateMedia({ colorScheme });
    const violations = async () => (await new AxeBuilder({ page }).analyze()).violations;
    expect(await violations()).toEqual([]);
    await reader.signIn(name);
    expect(await violations()).toEqual([]);
    await reader.openStory((await reader.titles())[0] ?? "");
    expect(await violations()).toEqual([]);
    await reader.goTo("History");
    expect(await violations()).toEqual([]);
  });
}
