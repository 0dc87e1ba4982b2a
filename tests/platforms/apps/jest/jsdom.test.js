/**
 * A test of a page's code.
 *
 * @jest-environment jsdom
 */
const { writeFileSync } = require("node:fs");
const { SeenGuard } = require("seenguard");
const formats = require("seenguard/formats");
const { guavaScenario, runScenario, scenario } = require("../shared.cjs");

test("the page guards its feed", async () => {
  const outcomes = {
    seenguard: await runScenario({ SeenGuard }, scenario),
    "seenguard/formats": await runScenario(formats, guavaScenario, { namespace: "formats:reader" }),
  };
  expect(outcomes.seenguard.applied).toBe(true);
  writeFileSync("jsdom.json", JSON.stringify(outcomes));
});
