/**
 * A test of a page's code.
 *
 * @jest-environment jsdom
 */
const { writeFileSync } = require("node:fs");
const { SeenGuard } = require("seenguard");
const { guardFeeds } = require("../shared.cjs");

test("the page guards its feed", async () => {
  const fallback = () => import("seenguard/engine-js");
  const formatsFallback = () => import("seenguard/formats/engine-js");
  const outcomes = await guardFeeds({ SeenGuard, fallback, formatsFallback }, () => require("seenguard/formats"));
  expect(outcomes.page.applied).toBe(true);
  writeFileSync("jsdom.json", JSON.stringify(outcomes));
});
