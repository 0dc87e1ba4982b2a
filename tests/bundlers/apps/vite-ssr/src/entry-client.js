/** What the page runs in the browser. */
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";

showFeed({ SeenGuard });
