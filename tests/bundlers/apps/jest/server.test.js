/** A test of a server's code, in Jest's default environment. */
const { writeFileSync } = require("node:fs");
const { SeenGuard } = require("seenguard");
const { plan, ShardChain } = require("seenguard/server");
const { scenario, serve } = require("../shared.cjs");

test("the server ships what was seen", async () => {
  const server = await serve({ SeenGuard, ShardChain, plan }, scenario);
  expect(server.applied).toBe(true);
  writeFileSync("server.json", JSON.stringify(server));
});
