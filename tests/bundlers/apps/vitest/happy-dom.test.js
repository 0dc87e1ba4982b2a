/**
 * A test of a page's code.
 *
 * @vitest-environment happy-dom
 */
import { writeFileSync } from "node:fs";
import { SeenGuard } from "seenguard";
import { expect, test } from "vitest";
import { guardFeeds } from "../shared.js";

test("the page guards its feed", async () => {
  const fallback = () => import("seenguard/engine-js");
  const formatsFallback = () => import("seenguard/formats/engine-js");
  const outcomes = await guardFeeds({ SeenGuard, fallback, formatsFallback }, () => import("seenguard/formats"));
  expect(outcomes.page.applied).toBe(true);
  writeFileSync("happy-dom.json", JSON.stringify(outcomes));
});
