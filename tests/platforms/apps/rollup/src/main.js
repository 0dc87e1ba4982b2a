/** The page's script. */
import { SeenGuard } from "seenguard";
import { guardFeed } from "../../feed.js";

guardFeed({ SeenGuard }, () => import("seenguard/formats"));
