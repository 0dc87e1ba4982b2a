/** A trap in the browser: the page goes on, and the next document finds in IndexedDB what the guard had recorded. */
import { codes, expect, fresh, record, stats, test } from "./pages.js";
import { documentOf } from "./site.js";
import { trappingWasm } from "./trapping.js";

test("after a trap the page shows everything, and the next document stops again what was recorded", async ({
  page,
  site,
}) => {
  site.documents.set(
    "/slim",
    `${documentOf("slim")}<script type="module">import * as Seenguard from "/dist/slim.js"; window.Seenguard = Seenguard;</script>`,
  );
  const uncaught: Error[] = [];
  page.on("pageerror", (error) => uncaught.push(error));
  const hex = Buffer.from(await trappingWasm()).toString("hex");
  const open = async () => {
    await page.goto(`${site.origin}/slim`);
    await page.evaluate(async (hex) => {
      window.codes = [];
      window.guard = await Seenguard.SeenGuard.open({
        namespace: "home:reader",
        wasm: Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16)),
        onError: ({ code }) => window.codes.push(code),
      });
    }, hex);
  };
  const all: string[] = [];
  for (let again = 0; again < 3; again++) {
    await open();
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
  await open();
  expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
  expect(uncaught).toEqual([]);
});
