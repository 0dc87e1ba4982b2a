/** A page of a bundled app. With ?guava its server has filters that this entry does not know. */
import * as seenguard from "seenguard";
import guavaScenario from "../guava-scenario.json";
import scenario from "../scenario.json";
import { runScenario } from "../scenario.js";
import { show } from "../show.js";

const fallback = () => import("seenguard/engine-js");
show(await runScenario(seenguard, location.search === "?guava" ? guavaScenario : scenario, { fallback }));
