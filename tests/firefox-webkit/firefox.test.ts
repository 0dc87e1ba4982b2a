/** The guard in Firefox. */
import { startFirefoxEngine } from "./engine.js";
import { testEngine } from "./suite.js";

testEngine("Firefox", startFirefoxEngine);
