/** A module worker that no bundler has seen. */
import { SeenGuard } from "../node_modules/seenguard/dist/index.js";
import { guardFeeds } from "../shared.js";

const fallback = () => import("../node_modules/seenguard/dist/engine-js.js");
const formatsFallback = () => import("../node_modules/seenguard/dist/formats-engine-js.js");
const loadFormats = () => import("../node_modules/seenguard/dist/formats.js");
postMessage(await guardFeeds({ SeenGuard, fallback, formatsFallback }, loadFormats));
