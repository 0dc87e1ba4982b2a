/** The guard in Firefox. */
import { startFirefoxEngine } from "../support/engine.js";
import { testEngine } from "./suite.js";

testEngine("Firefox", startFirefoxEngine);
