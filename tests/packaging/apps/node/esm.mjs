/** A Node app of ES modules. */
import { readFileSync } from "node:fs";
import * as seenguard from "seenguard";
import { tell } from "../story.js";

const chapters = JSON.parse(readFileSync(new URL(`../${process.argv[2]}`, import.meta.url), "utf8"));
console.log(JSON.stringify(await tell(seenguard, chapters, { storage: "none" })));
