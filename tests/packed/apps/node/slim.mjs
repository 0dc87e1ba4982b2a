/** A Node app that reads the Wasm module itself. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as seenguard from "seenguard/slim";
import { runScenario } from "../scenario.js";

const wasm = readFileSync(createRequire(import.meta.url).resolve(`seenguard/${process.argv[3]}`));
const scenario = JSON.parse(readFileSync(new URL(`../${process.argv[2]}`, import.meta.url), "utf8"));
console.log(JSON.stringify(await runScenario(seenguard, scenario, { storage: "none", wasm })));
