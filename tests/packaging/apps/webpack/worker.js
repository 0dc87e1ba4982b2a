/** The app's worker, in a namespace of its own. */
import * as seenguard from "seenguard";
import { ShardChain } from "seenguard/server";
import scenario from "../scenario.json";
import { runScenario } from "../scenario.js";

const chain = await ShardChain.from(scenario.snapshot);
const snapshot = { ...chain.snapshot(), version: 1 };
postMessage(await runScenario(seenguard, { ...scenario, snapshot }, { namespace: "home:worker" }));
