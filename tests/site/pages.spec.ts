/** Every page of the documentation's site: its links, pictures, accessibility and requests. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, test, type Page } from "@playwright/test";
import { builds, requestsElsewhere, siteFor } from "./site.ts";

interface Found {
  readonly ids: readonly string[];
  readonly links: readonly string[];
  readonly brokenImages: readonly string[];
}

for (const build of builds) {
  test.describe(`built for ${build.base}`, () => {
    const site = siteFor(build);

    test("all links and anchors of all pages resolve, and nothing is fetched from another host", async ({ page }) => {
      test.setTimeout(300_000);
      const { url, pages } = site();
      const elsewhere = await requestsElsewhere(page, site());
      const found = new Map<string, Found>();
      for (const path of pages) {
        await page.goto(url + path);
        found.set(url + path, await page.evaluate(findInPage));
      }
      expect(found.size).toBeGreaterThan(25);
      const broken: string[] = [];
      for (const [address, { links, brokenImages }] of found) {
        broken.push(...brokenImages.map((image) => `${address}: picture ${image}`));
        for (const link of links) if (!(await resolves(page, link, url, found))) broken.push(`${address}: ${link}`);
      }
      expect(broken).toEqual([]);
      expect(
        [...found.values()].flatMap(({ links }) => links).filter((link) => link.includes("#")).length,
      ).toBeGreaterThan(100);
      expect(elsewhere).toEqual([]);
    });
  });
}

/** A link to another host is not followed. */
async function resolves(page: Page, link: string, site: string, found: ReadonlyMap<string, Found>): Promise<boolean> {
  const { origin, pathname, hash } = new URL(link);
  if (origin !== new URL(site).origin) return /^https?:\/\/([\w-]+\.\w|localhost:)/.test(link);
  const address = origin + pathname.replace(/\/$/, "/index.html");
  const target = found.get(address);
  if (target === undefined) return hash === "" && (await page.request.get(address)).ok();
  return hash === "" || target.ids.includes(decodeURIComponent(hash.slice(1)));
}

/** Runs in the page. */
function findInPage(): Found {
  const images = [...document.images];
  return {
    ids: [...document.querySelectorAll("[id]")].map(({ id }) => id),
    links: [...document.querySelectorAll<HTMLAnchorElement>("a[href]")].map(({ href }) => href),
    brokenImages: images.filter((image) => image.complete && image.naturalWidth === 0).map(({ src }) => src),
  };
}

test.describe("on the built site", () => {
  const [build] = builds;
  const site = siteFor(build);

  for (const colorScheme of ["light", "dark"] as const) {
    test(`no accessibility rule is broken on any page, ${colorScheme}`, async ({ page }) => {
      test.setTimeout(900_000);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const { url, pages } = site();
      const findings: unknown[] = [];
      for (const path of pages) {
        await page.goto(url + path);
        await expect(page.locator("html")).toHaveClass(colorScheme === "dark" ? "dark" : "");
        // The demo in its frame has tests of its own. In the dark the colours alone are others. Code has the same
        // colours on all pages, and thousands of coloured words on some: one page stands for it.
        const axe = new AxeBuilder({ page }).exclude("iframe");
        if (path !== "start.html") axe.exclude("div[class*='language-'] pre");
        if (colorScheme === "dark") axe.withRules(["color-contrast"]);
        const { violations } = await axe.analyze();
        findings.push(...violations.map(({ id, nodes }) => ({ path, id, where: nodes.map(({ target }) => target) })));
      }
      expect(findings).toEqual([]);
    });
  }

  test("the search finds a page by one of its words, and opens it", async ({ page }) => {
    await page.goto(site().url);
    await page.keyboard.press("Control+k");
    await page.getByRole("searchbox").fill("forgetBefore");
    await expect(page.getByRole("option").first()).toBeVisible();
    await page.keyboard.press("Enter");
    await expect(page.locator("main")).toContainText("forgetBefore");
  });

  test("the sidebar has every page once, in its group", async ({ page }) => {
    await page.goto(`${site().url}api.html`);
    const links = page.locator(".VPSidebar a");
    const paths = await links.evaluateAll((all) =>
      (all as HTMLAnchorElement[]).map(({ pathname }) => pathname.slice(1)),
    );
    const others = ["index.html", "404.html"];
    expect([...paths].sort()).toEqual(
      site()
        .pages.filter((path) => !others.includes(path))
        .sort(),
    );
    await expect(page.locator(".VPSidebarItem.level-0 > .item .text").first()).toHaveText("Use it");
    await expect(page.locator(".VPSidebar")).not.toContainText("{#"); // an anchor of a heading
  });
});
