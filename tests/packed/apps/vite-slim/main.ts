/**
 * A page with the Wasm module as a file of its own, which the bundler emits. With ?guava it is the module with other
 * formats.
 */
import * as seenguard from "seenguard/slim";
import formatsWasm from "seenguard/formats.wasm?url";
import wasm from "seenguard/seenguard.wasm?url";
import scenario from "../scenario.json";
import guavaScenario from "../guava-scenario.json";
import { runScenario, type Outcome } from "../scenario.js";

declare global {
  interface Window {
    outcome?: Outcome;
  }
}

const [chosen, file] = location.search === "?guava" ? [guavaScenario, formatsWasm] : [scenario, wasm];
window.outcome = await runScenario(seenguard, chosen, { wasm: new URL(file, location.href) });
