/** A module worker that no bundler has seen. */
import { SeenGuard } from "../node_modules/seenguard/dist/index.js";
import { guardFeeds } from "../shared.js";

postMessage(await guardFeeds({ SeenGuard }, () => import("../node_modules/seenguard/dist/formats.js")));
