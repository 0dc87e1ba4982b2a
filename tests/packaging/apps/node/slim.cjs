/** The same in CommonJS. */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const seenguard = require("seenguard/slim");

const wasm = readFileSync(require.resolve(`seenguard/${process.argv[3]}`));
const chapters = JSON.parse(readFileSync(join(__dirname, "..", process.argv[2] ?? ""), "utf8"));
import("../story.js")
  .then(({ tell }) => tell(seenguard, chapters, { storage: "none", wasm }))
  .then((told) => console.log(JSON.stringify(told)));
