/** The examples of docs/react.md, docs/vue.md and docs/svelte.md do what these pages say. */
import { frameworks } from "./build.js";
import { expect, idsOfPages, KNOWN, test } from "./pages.js";

for (const framework of frameworks) {
  test.describe(framework, () => {
    test.use({ framework });

    test("the documented feed shows what is fresh, delivers what was seen, and leaves it out after a refresh", async ({
      reader,
    }) => {
      const { delivered } = reader.site;
      await reader.open("/example");
      await expect(reader.items).toHaveText(idsOfPages(0));
      await expect.poll(() => delivered, { timeout: 20_000 }).toContain("item-0");
      await reader.press("More");
      await expect(reader.items).toHaveText(idsOfPages(0, 1).filter((id) => id !== KNOWN));
      const seen = [...delivered];
      await reader.press("Refresh");
      await expect(reader.items.first()).not.toHaveText("item-0");
      expect(await reader.everShown()).not.toContain(KNOWN);
      expect((await reader.ids()).filter((id) => seen.includes(id))).toEqual([]);
      expect(reader.complaints).toEqual([]);
    });
  });
}
