/** The page's script. */
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";
import "./seen-feed.js";

showFeed({ SeenGuard });
