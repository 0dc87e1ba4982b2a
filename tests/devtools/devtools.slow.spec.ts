/** `<seenguard-panel>`: its content after real calls, its use, and what a page may do with it. */
import { AxeBuilder } from "@axe-core/playwright";
import { PanelPage, shippedAgain, snapshotOf, test } from "./panel-page.js";
import { codes, expect, openGuard } from "../support/chromium.js";

declare global {
  interface Window {
    /** The ids of the event `seenguard-unsee`. */
    unseenIds: (readonly string[])[];
    /** Number of reads of the guard's state. */
    looks: number;
  }
}

test.afterEach(({ shown }) => {
  expect(shown.complaints).toEqual([]);
});

test.describe("what is shown", () => {
  test("the numbers include calls of the guard, of feeds and of other handles", async ({ shown }) => {
    await shown.openWithGuard({ storage: "indexeddb" });
    const snapshot = await snapshotOf(["known", "known too"]);
    await shown.apply({ ...snapshot, version: 12 });
    await shown.page.evaluate(async () => {
      const { guard } = window;
      guard.record(["a", "b"]);
      guard.filter(["a", "known", "x", "x", "y"]);
      guard.filter(["z", {}] as string[]);
      guard.feed().admit([{ id: "b" }, { id: "z" }]);
      const other = await window.Seenguard.SeenGuard.open({ namespace: "home:reader-1" });
      other.unsee(["known too"]);
      await other.close();
    });
    await expect(shown.fact("Pending")).toHaveText("2");
    await expect(shown.fact("Stopped")).toHaveText("4");
    await expect(shown.fact("Passed")).toHaveText("4");
    await expect(shown.fact("Remembered")).toHaveText("2");
    await expect(shown.fact("Undelivered")).toHaveText("3");
    await expect(shown.fact("Version")).toHaveText("12");
    await expect(shown.fact("Storage")).toHaveText("IndexedDB");
    await expect(shown.fact("Engine")).toHaveText("WebAssembly");
    await expect(shown.panel.locator("summary")).toContainText("2 pending");
    const characters = snapshot.shards.join("").length;
    await expect(shown.fact("Received")).toHaveText(`${String(characters)} B`);
    await expect(shown.fact("By reference")).toHaveText("0 of 1 shard");

    const held = await shown.page.evaluate(() => window.guard.headers()["Seen-Held"] ?? "");
    await shown.apply(await shippedAgain(snapshot, held));
    await expect(shown.fact("Received")).toHaveText(`${String(characters + 13)} B`);
    await expect(shown.fact("By reference")).toHaveText("1 of 2 shards");
  });

  test("stopped items are listed with their reasons, the latest first", async ({ shown }) => {
    await shown.openWithGuard();
    await shown.apply(await snapshotOf(["known", "covered"]));
    await shown.page.evaluate(() => {
      const { guard } = window;
      guard.record(["a", "group"]);
      guard.record("covered");
      guard.filter(["a", "known", "x", "x"]);
      guard.split([["copy", "group"], ["covered"], ["y"]], (ids) => ids);
    });
    await expect(shown.rows("Stopped lately")).toHaveText([
      /^covered\s*device shown here \d+ s ago/,
      /^copy\s*pending shown here \d+ s ago, by its id group/,
      /^x\s*duplicate earlier in the same list/,
      /^known\s*server contained in the server’s shards/,
      /^a\s*pending shown here \d+ s ago/,
    ]);
    await expect(shown.rows("Stopped lately").getByRole("button")).toHaveCount(4); // none for the duplicate
    await expect(shown.rows("Stopped lately").first().getByText("device", { exact: true })).toBeVisible();
    await expect(shown.panel).toContainText("5 in all: 2 pending, 1 device, 1 server, 1 duplicate.");
    await expect(shown.panel).toContainText("The last call stopped 2 of 3.");
    // Rendered again, an item stays where it is; of thousands the latest 50 are listed.
    await shown.page.evaluate(() => window.guard.filter(["a"]));
    await expect(shown.panel).toContainText("The last call stopped 1 of 1.");
    await expect(shown.rows("Stopped lately").last()).toContainText("a");
    await shown.page.evaluate(() => {
      const ids = Array.from({ length: 3000 }, (_, index) => `many ${String(index)}`);
      window.guard.record(ids);
      window.guard.filter(ids);
    });
    await expect(shown.rows("Stopped lately")).toHaveCount(50);
    await expect(shown.rows("Stopped lately").first()).toContainText("many 2999");
  });

  test("pending impressions are listed until a snapshot covers them, the oldest first", async ({ shown }) => {
    await shown.openWithGuard();
    await expect(shown.panel).toContainText("The server knows all that was seen here.");
    await shown.page.evaluate(() => window.guard.record(["first", "second", "x".repeat(1_000)]));
    await expect(shown.rows("Pending")).toHaveText([/^first/, /^second/, /^x{60}…x{12}\s*shown here \d+ s ago/]);
    await shown.apply(await snapshotOf(["first"]));
    await expect(shown.rows("Pending").first()).toContainText("second");
    await shown.page.evaluate(() => window.guard.record(Array.from({ length: 100 }, (_, index) => `many ${index}`)));
    await expect(shown.rows("Pending")).toHaveCount(50);
    await expect(shown.panel).toContainText("The oldest 50 of 102.");
  });

  test("the lag is plotted, and described in words", async ({ shown }) => {
    await shown.page.clock.install({ time: new Date("2026-01-01T12:00:00Z") });
    await shown.openWithGuard();
    const words = shown.panel.getByRole("figure");
    await expect(words).toContainText("Nothing is pending.");
    await shown.page.clock.pauseAt(new Date("2026-01-01T12:01:00Z"));
    await shown.page.evaluate(() => window.guard.record("a"));
    await shown.page.clock.runFor(30_000);
    await expect(words).toContainText(/The oldest pending impression has waited (29|30) s\./);
    await expect(words).toContainText("30 s5 min ago"); // the top of the axis, and where it begins
    // The line rises from the lower edge to the upper one, at the right.
    await expect(shown.panel.locator("svg")).toHaveAttribute("viewBox", "0 0 300 100");
    expect(await pathOf(shown, "line")).toMatch(/L270\.0 100\.0L.*L300\.0 [0-3]\.\d$/);
    expect(await pathOf(shown, "area")).toMatch(/^M[\d.]+ 100\.0L.*L300\.0 [0-3]\.\dV100$/);
    expect(await pathOf(shown, "dots")).toBe("");
    await shown.apply(await snapshotOf(["a"]));
    await shown.page.clock.runFor(1000);
    await expect(words).toContainText(
      "Nothing is pending. 1 impression reached the server: half within 30 s, 95% within 30 s.",
    );
    expect(await pathOf(shown, "line")).toMatch(/L300\.0 100\.0$/);
    expect(await pathOf(shown, "dots")).toMatch(/^M300\.0 0\.0h0$/);
    await shown.page.clock.runFor(100_000);
    expect(await pathOf(shown, "dots")).toMatch(/^M200\.0 /);
    // A sleeping tab takes no samples: samples older than the plot are not in it.
    await shown.page.clock.fastForward(250_000);
    expect(await pathOf(shown, "dots")).toBe("");
    expect(await pathOf(shown, "line")).not.toContain("-");
  });

  test("distinguishes a guard without an engine, a closed guard and no guard", async ({ shown }) => {
    await shown.open();
    const trouble = shown.panel.locator(".trouble");
    await expect(trouble).toHaveText("There is no guard to show yet.");
    await shown.page.evaluate(() => Reflect.deleteProperty(globalThis, "WebAssembly"));
    await openGuard(shown.page, { storage: "none" });
    await shown.page.evaluate(() =>
      Object.assign(document.querySelector("seenguard-panel") ?? {}, { guard: window.guard }),
    );
    await expect(trouble).toHaveText("This guard has no engine: everything passes.");
    await expect(shown.fact("Engine")).toHaveText("none");
    await shown.page.evaluate(() => window.guard.close());
    await expect(trouble).toHaveText("This guard is closed: everything passes.");
    await expect(shown.fact("Engine")).toBeHidden();
    expect(await codes(shown.page)).toEqual(["engine"]);
  });
});

async function pathOf({ panel }: PanelPage, name: "line" | "area" | "dots"): Promise<string | null> {
  return panel.locator(`path.${name}`).getAttribute("d");
}

test.describe("unsee", () => {
  test("by the keyboard alone: the item passes again, the focus moves to the next one, and the page is notified", async ({
    shown,
  }) => {
    await shown.openWithGuard();
    const { page } = shown;
    await page.evaluate(() => {
      window.unseenIds = [];
      document.addEventListener("seenguard-unsee", ({ detail }: Event & { detail?: { ids: string[] } }) => {
        window.unseenIds.push(detail?.ids ?? []);
      });
      window.guard.record(["a", "group", "c"]);
      window.guard.filter([["c"], ["copy", "group"], ["a"]], (ids) => ids);
      document.querySelector("seenguard-panel")?.removeAttribute("open");
    });
    await page.keyboard.press("Tab");
    await expect(shown.panel.locator("summary")).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(shown.rows("Stopped lately")).toHaveText([/^a/, /^copy/, /^c/]);
    await page.keyboard.press("Tab");
    await expect(shown.panel.getByRole("list", { name: "Stopped lately" })).toBeFocused();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await expect(shown.panel.getByRole("button", { name: "Unsee copy" })).toBeFocused();
    await page.keyboard.press("Space");
    await expect(shown.rows("Stopped lately")).toHaveText([/^a/, /^c/]);
    await expect(shown.rows("Pending")).toHaveText([/^a/, /^c/]);
    await expect(shown.panel.getByRole("button", { name: "Unsee c" }).first()).toBeFocused();
    await expect(shown.panel.getByRole("status")).toHaveText("copy is unseen: it passes again.");
    expect(await page.evaluate(() => window.unseenIds)).toEqual([["copy", "group"]]);
    expect(await page.evaluate(() => window.guard.filter(["copy", "group", "a"]))).toEqual(["copy", "group"]);

    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await expect(shown.rows("Stopped lately")).toHaveCount(0);
    await expect(shown.panel.getByRole("heading", { name: "Stopped lately" })).toBeFocused();
    expect(await page.evaluate(() => window.guard.pending())).toEqual([]);
  });

  test("reports if the item was made unseen elsewhere before", async ({ shown }) => {
    await shown.openWithGuard();
    await shown.page.evaluate(() => {
      window.guard.record("a");
      window.guard.filter(["a"]);
      window.guard.unsee("a");
    });
    await shown.rows("Stopped lately").getByRole("button").click();
    await expect(shown.panel.getByRole("status")).toHaveText("a was not stopped any more.");
  });
});

test("screen readers announce the user's actions, and no automatic changes", async ({ shown }) => {
  await shown.openWithGuard();
  await shown.page.evaluate(() => {
    const status = document.querySelector("seenguard-panel")?.shadowRoot?.querySelector("[role=status]");
    const announced: string[] = [];
    new MutationObserver(() => announced.push(status?.textContent ?? "")).observe(status ?? document, {
      childList: true,
      characterData: true,
      subtree: true,
    });
    Object.assign(window, { announced });
    window.guard.record(["a", "b"]);
    window.guard.filter(["a", "b", "c"]);
  });
  const live = shown.panel.locator("[aria-live], [role=alert], [role=log], [role=status], [role=timer], output");
  await expect(live).toHaveCount(1);
  await expect(shown.panel.getByRole("figure")).toContainText(/has waited [2-9] s/);
  expect(await shown.page.evaluate("announced")).toEqual([]);
  await shown.panel.getByRole("button", { name: "Unsee a" }).first().click();
  expect(await shown.page.evaluate("announced")).toEqual(["a is unseen: it passes again."]);
});

/** Something in each part of the panel. */
async function fill(shown: PanelPage): Promise<void> {
  await shown.apply(await snapshotOf(["known"]));
  await shown.page.evaluate(() => {
    window.guard.record(["a", `https://feed.test/${"long-".repeat(30)}`]);
    window.guard.filter(["a", "known", "x", "x"]);
  });
}

for (const colorScheme of ["light", "dark"] as const) {
  for (const [device, viewport] of [
    ["a desk", { width: 1280, height: 900 }],
    ["a phone", { width: 320, height: 640 }],
  ] as const) {
    test.describe(`in ${colorScheme} colours on ${device}`, () => {
      test.use({ colorScheme, viewport });

      test("no accessibility rule is broken, and nothing is wider than the panel", async ({ shown }) => {
        await shown.openWithGuard();
        await fill(shown);
        await expect(shown.rows("Stopped lately")).toHaveCount(3);
        await expectAccessible(shown);
        await expectNothingCut(shown);
      });
    });
  }
}

test("in forced colours the drawings use the text colours", async ({ shown }) => {
  await shown.page.emulateMedia({ forcedColors: "active" });
  await shown.openWithGuard();
  await fill(shown);
  await expect(shown.rows("Stopped lately")).toHaveCount(3);
  const drawn = shown.panel.locator("path");
  for (const path of [drawn.and(shown.page.locator(".line")), drawn.and(shown.page.locator(".dots"))])
    await expect(path).toHaveCSS("stroke", "rgb(0, 0, 0)");
  await expectAccessible(shown);
});

for (const zoom of ["a page at 200%", "texts at 200%"]) {
  test(`of ${zoom} nothing is cut off`, async ({ shown }) => {
    // A desk's window is half as wide then, in the units of styles.
    await shown.page.setViewportSize({ width: 640, height: 450 });
    await shown.openWithGuard();
    await fill(shown);
    if (zoom.startsWith("texts")) await shown.panel.evaluate((panel) => (panel.style.fontSize = "26px"));
    await expect(shown.rows("Stopped lately")).toHaveCount(3);
    await expectNothingCut(shown);
  });
}

async function expectAccessible({ page }: PanelPage): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ target }) => target) }))).toEqual([]);
}

/** Expects that neither the page scrolls sideways, nor a text is wider than its element. */
async function expectNothingCut({ page, panel }: PanelPage): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  const cut = await panel.evaluate(({ shadowRoot }) =>
    [...(shadowRoot?.querySelectorAll<HTMLElement>("section *:not(.visually-hidden, svg, svg *)") ?? [])]
      .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth)
      .map(({ outerHTML }) => outerHTML),
  );
  expect(cut).toEqual([]);
}

test.describe("on a page", () => {
  test("it has its styles under a strict content security policy", async ({ shown }) => {
    await shown.openWithGuard();
    await expect(shown.panel).toHaveCSS("border-radius", "11.7px");
    await expect(shown.panel.locator("style")).toHaveCount(0);
  });

  test("without constructed sheets, as in older Safari, a style element with the page's nonce has them", async ({
    shown,
  }) => {
    await shown.page.addInitScript(() => Reflect.deleteProperty(CSSStyleSheet.prototype, "replaceSync"));
    await shown.open(
      `<seenguard-panel nonce="of-the-page"></seenguard-panel><script type="module" src="/devtools.js"></script>`,
    );
    await expect(shown.panel).toHaveCSS("border-radius", "11.7px");
    await expect(shown.panel.locator("style")).toHaveCount(1);
    await shown.page.evaluate(() => document.body.append(...document.querySelectorAll("seenguard-panel")));
    await expect(shown.panel.locator("style")).toHaveCount(1);
  });

  test("no style but its custom properties crosses its boundary", async ({ shown }) => {
    await shown.openWithGuard();
    await shown.page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync("* { color: red; letter-spacing: 1em } button { display: none } dl { display: none }");
      document.adoptedStyleSheets = [sheet];
      const theme = new CSSStyleSheet();
      theme.replaceSync("seenguard-panel { letter-spacing: normal; --seenguard-background: rgb(1, 2, 3) }");
      document.adoptedStyleSheets.push(theme);
      document.querySelector("main")?.append(document.createElement("dl"), document.createElement("summary"));
      window.guard.record("a");
    });
    await expect(shown.fact("Pending")).toHaveText("1");
    await expect(shown.rows("Pending").getByRole("button")).toBeVisible();
    await expect(shown.panel).toHaveCSS("background-color", "rgb(1, 2, 3)");
    await expect(shown.page.locator("main > summary")).toHaveCSS("padding-left", "0px");
  });

  test("defined twice, and given its guard before it is defined, it works", async ({ shown }) => {
    await shown.open("<seenguard-panel></seenguard-panel>");
    await openGuard(shown.page, { storage: "none" });
    const same = await shown.page.evaluate(async () => {
      window.guard.record("a");
      const panel = document.querySelector("seenguard-panel");
      Object.assign(panel ?? {}, { guard: window.guard, open: true });
      const [first, second] = ["/devtools.js", "/devtools.js?copy"];
      const copies = [await import(first), await import(second)] as { SeenGuardPanel: unknown }[];
      const isAnother = copies[0]?.SeenGuardPanel !== copies[1]?.SeenGuardPanel;
      return [isAnother, panel?.guard === window.guard, panel?.getAttribute("open")];
    });
    expect(same).toEqual([true, true, ""]);
    await expect(shown.fact("Pending")).toHaveText("1");
  });

  test("several guards have a panel each, and one guard may have two", async ({ shown }) => {
    const panels = ["home", "home again", "videos"].map(
      (label) => `<seenguard-panel open label="${label}"></seenguard-panel>`,
    );
    await shown.open(`${panels.join("")}<script type="module" src="/devtools.js"></script>`);
    await openGuard(shown.page, { storage: "none" });
    await shown.page.evaluate(async () => {
      const videos = await window.Seenguard.SeenGuard.open({ namespace: "videos", storage: "none" });
      const [home, again, other] = document.querySelectorAll("seenguard-panel");
      for (const panel of [home, again]) if (panel) panel.guard = window.guard;
      if (other) other.guard = videos;
      window.guard.record(["a", "b"]);
      videos.record("v");
    });
    await expect(shown.panel.locator(".badge")).toHaveText(["2 pending", "2 pending", "1 pending"]);
    await expect(shown.page.getByRole("region", { name: "Seenguard videos" })).toContainText("v");
    await expectAccessible(shown);
    // Another guard replaces the first one, of which nothing stays.
    await shown.page.evaluate(() => {
      const [home, , other] = document.querySelectorAll("seenguard-panel");
      if (home && other) home.guard = other.guard;
    });
    await expect(shown.panel.locator(".badge")).toHaveText(["1 pending", "2 pending", "1 pending"]);
    await expect(shown.panel.first().getByRole("list", { name: "Pending" })).toHaveText(/^v/);
  });

  test("docked it stays in the window, closed and open", async ({ shown }) => {
    await shown.page.setViewportSize({ width: 320, height: 480 });
    await shown.openWithGuard();
    await fill(shown);
    await shown.page.evaluate(() => {
      const panel = document.querySelector("seenguard-panel");
      panel?.toggleAttribute("docked", true);
      panel?.removeAttribute("open");
    });
    const box = async () => (await shown.panel.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const closed = await box();
    expect(closed.y + closed.height).toBeGreaterThan(440);
    expect(closed.height).toBeLessThan(60);
    await shown.panel.locator("summary").click();
    await expect(shown.panel).toHaveAttribute("open", "");
    const { x, y, width, height } = await box();
    expect(Math.min(x, y)).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(320);
    expect(y + height).toBeLessThanOrEqual(480);
    await expectAccessible(shown);
  });
});
