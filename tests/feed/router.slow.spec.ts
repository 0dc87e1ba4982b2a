/** A feed outlives its component while an article is open, but not a reload. */
import { expect, test } from "../support/pages.js";
import { readAndReturn, serveApp } from "./router-app.js";

test("i4: an app that stores its items shows the same list at the same scroll position, the item just read included", async ({
  page,
  site,
}) => {
  serveApp(site);
  const tab = {
    evaluate: page.evaluate.bind(page),
    open: (url: string) => page.goto(url),
    back: () => page.goBack(),
    reload: () => page.reload(),
  };
  const { before, after, reloaded, later } = await readAndReturn(tab, site);
  expect(before).toEqual({ route: "list", ids: expect.arrayContaining(["article-7"]) as string[], scroll: 2100 });
  expect(before.ids).toHaveLength(40);
  for (const [how, view] of Object.entries(after)) expect(view, how).toEqual(before);
  for (const { ids } of [reloaded, later]) {
    expect(ids.length).toBeLessThan(40);
    expect(ids).not.toContain("article-7");
  }
});
