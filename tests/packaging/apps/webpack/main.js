/** An app that guards its feed in the page, and in a worker. */
import * as seenguard from "seenguard";
import scenario from "../scenario.json";
import { runScenario } from "../scenario.js";

window.outcome = await runScenario(seenguard, scenario);
new Worker("./worker.js").addEventListener("message", ({ data }) => (window.outcomeOfWorker = data));
