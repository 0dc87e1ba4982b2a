/**
 * A test of a page's code.
 *
 * @vitest-environment happy-dom
 */
import { writeFileSync } from "node:fs";
import { SeenGuard } from "seenguard";
import * as formats from "seenguard/formats";
import { expect, test } from "vitest";
import { guavaScenario, runScenario, scenario } from "../shared.js";

test("the page guards its feed", async () => {
  const outcomes = {
    seenguard: await runScenario({ SeenGuard }, scenario),
    "seenguard/formats": await runScenario(formats, guavaScenario, { namespace: "formats:reader" }),
  };
  expect(outcomes.seenguard.applied).toBe(true);
  writeFileSync("happy-dom.json", JSON.stringify(outcomes));
});
