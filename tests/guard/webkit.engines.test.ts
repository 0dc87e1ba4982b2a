/** The guard in WebKitGTK, whose engine is that of iOS webviews. */
import { startWebKitEngine } from "../support/engine.js";
import { testEngine } from "./suite.js";

testEngine("WebKitGTK", startWebKitEngine);
