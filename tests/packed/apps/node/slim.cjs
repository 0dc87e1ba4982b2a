/** The same in CommonJS. */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const seenguard = require("seenguard/slim");

const wasm = readFileSync(require.resolve(`seenguard/${process.argv[3]}`));
const scenario = JSON.parse(readFileSync(join(__dirname, "..", process.argv[2] ?? ""), "utf8"));
import("../scenario.js")
  .then(({ runScenario }) => runScenario(seenguard, scenario, { storage: "none", wasm }))
  .then((outcome) => console.log(JSON.stringify(outcome)));
