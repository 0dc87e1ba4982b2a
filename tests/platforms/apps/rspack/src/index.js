/** The page's script: rspack's default entry. */
import { SeenGuard } from "seenguard";
import { guardFeed } from "../../feed.js";

guardFeed({ SeenGuard }, () => import("seenguard/formats"));
