/** What the page runs in the browser. */
import { SeenGuard } from "seenguard";
import { guardFeed } from "../../feed.js";

guardFeed({ SeenGuard }, () => import("seenguard/formats"));
