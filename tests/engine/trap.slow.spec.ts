/**
 * A trap in the browser: a fresh engine takes the place of the one that trapped, once in a document, from what is in
 * IndexedDB; after a second trap the page shows everything, and the next document finds what was recorded.
 */
import type { GuardOptions } from "seenguard/slim";
import { codes, expect, fresh, record, stats, test } from "../support/pages.js";
import { documentOf } from "../support/site.js";
import { trappingWasm } from "./trapping.js";

test("i5: after a trap a fresh engine stops stored ids; after a second trap everything passes until the next page", async ({
  page,
  site,
}) => {
  site.documents.set(
    "/slim",
    `${documentOf("slim")}<script type="module">import * as Seenguard from "/dist/slim.js"; window.Seenguard = Seenguard;</script>`,
  );
  const uncaught: Error[] = [];
  page.on("pageerror", (error) => uncaught.push(error));
  const hex = Buffer.from(trappingWasm()).toString("hex");
  const open = async () => {
    await page.goto(`${site.origin}/slim`);
    await page.evaluate(async (hex) => {
      window.codes = [];
      const options: GuardOptions = {
        namespace: "home:reader",
        wasm: Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16)),
        onError: ({ code }) => window.codes.push(code),
      };
      window.guard = await Seenguard.SeenGuard.open(options);
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
    // What the first engine had not stored is lost, and nothing else.
    expect(await page.evaluate(() => window.guard.explain("a"))).toEqual({ seen: false });
    expect(await codes(page)).toEqual(["engine"]);
    await expect.poll(() => fresh(page, [...all, "new"])).toEqual(["new"]);
    expect((await stats(page)).engine).toBe("wasm");
    all.push(`after the trap of visit ${String(again)}`);
    await record(page, all.slice(-1));
    await page.evaluate(() => window.guard.flush());
    expect(await codes(page)).toEqual(["engine"]);

    expect(await page.evaluate(() => window.guard.explain("a"))).toEqual({ seen: false });
    expect(await codes(page)).toEqual(["engine", "engine"]);
    expect(await fresh(page, [...all, "new"])).toEqual([...all, "new"]);
    await record(page, ["nobody remembers"]);
    expect((await stats(page)).engine).toBe("none");
    await page.waitForTimeout(500);
    expect(await fresh(page, [...all, "new"])).toEqual([...all, "new"]);
    expect(await codes(page)).toEqual(["engine", "engine"]);
  }
  await open();
  expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
  expect(uncaught).toEqual([]);
});
