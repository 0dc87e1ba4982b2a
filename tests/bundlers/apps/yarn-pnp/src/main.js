/** The page's script. */
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";

showFeed({ SeenGuard });
