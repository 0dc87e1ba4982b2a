/** The same in CommonJS. */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { SeenGuard } = require("seenguard");
const { plan, ShardChain } = require("seenguard/server");

const fallback = () => import("seenguard/engine-js");
const scenario = JSON.parse(readFileSync(join(__dirname, "../scenario.json"), "utf8"));
import("../server.js")
  .then(({ serve }) => serve({ ShardChain, SeenGuard, plan, fallback }, scenario))
  .then((outcome) => console.log(JSON.stringify(outcome)));
