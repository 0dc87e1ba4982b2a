/** A Node app of ES modules. */
import { readFileSync } from "node:fs";
import * as seenguard from "seenguard";
import { runScenario } from "../scenario.js";

const scenario = JSON.parse(readFileSync(new URL(`../${process.argv[2]}`, import.meta.url), "utf8"));
console.log(JSON.stringify(await runScenario(seenguard, scenario, { storage: "none" })));
