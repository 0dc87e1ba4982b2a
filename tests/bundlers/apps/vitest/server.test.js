/** A test of a server's code, in Vitest's default environment. */
import { writeFileSync } from "node:fs";
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { expect, test } from "vitest";
import { scenario, serve } from "../shared.js";

test("the server ships what was seen", async () => {
  const server = await serve({ SeenGuard, ShardChain, plan }, scenario);
  expect(server.applied).toBe(true);
  writeFileSync("server.json", JSON.stringify(server));
});
