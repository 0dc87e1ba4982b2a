/** A Node app of CommonJS modules. */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const seenguard = require("seenguard");

const chapters = JSON.parse(readFileSync(join(__dirname, "..", process.argv[2] ?? ""), "utf8"));
import("../story.js")
  .then(({ tell }) => tell(seenguard, chapters, { storage: "none" }))
  .then((told) => console.log(JSON.stringify(told)));
