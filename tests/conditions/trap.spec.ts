/**
 * A trap in the browser: the page goes on, and the next open finds in IndexedDB what the trapped guard had recorded.
 */
import { codes, expect, fresh, record, stats, test } from "./pages.js";
import { documentOf } from "./site.js";
import { trappingWasm } from "./trapping.js";

test("after a trap the page shows everything, and a new open stops again what was recorded", async ({ page, site }) => {
  site.documents.set(
    "/slim",
    `${documentOf("slim")}<script type="module">import * as Seenguard from "/dist/slim.js"; window.Seenguard = Seenguard;</script>`,
  );
  await page.goto(`${site.origin}/slim`);
  const uncaught: Error[] = [];
  page.on("pageerror", (error) => uncaught.push(error));
  const hex = Buffer.from(await trappingWasm()).toString("hex");
  await page.evaluate((hex) => {
    const bytes = Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16));
    const opening = {
      namespace: "home:reader",
      wasm: bytes,
      onError: ({ code }: Error & { code: string }) => window.codes.push(code),
    };
    window.open = (async () => {
      window.codes = [];
      window.guard = await Seenguard.SeenGuard.open(opening);
    }) as unknown as typeof window.open;
  }, hex);
  const all: string[] = [];
  for (let again = 0; again < 3; again++) {
    await page.evaluate(() => window.open());
    expect((await stats(page)).engine).toBe("wasm");
    expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
    all.push(`of visit ${String(again)}`);
    await record(page, all.slice(-1));
    await page.evaluate(() => window.guard.flush());
    expect(await page.evaluate(() => window.guard.explain("a"))).toEqual({ seen: false });
    expect(await codes(page)).toEqual(["trap"]);
    expect(await fresh(page, [...all, "new"])).toEqual([...all, "new"]);
    await record(page, ["nobody remembers"]);
    expect((await stats(page)).engine).toBe("none");
    expect(await codes(page)).toEqual(["trap"]);
  }
  await page.evaluate(() => window.open());
  expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
  expect(uncaught).toEqual([]);
});
