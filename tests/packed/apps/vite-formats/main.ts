/** A page whose server keeps the filters of another library. */
import * as seenguard from "seenguard/formats";
import scenario from "../guava-scenario.json";
import { show } from "../show.js";
import { runScenario } from "../scenario.js";

show(await runScenario(seenguard, scenario));
