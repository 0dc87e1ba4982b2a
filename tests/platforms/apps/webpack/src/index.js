/** The page's script: webpack's default entry. */
import { SeenGuard } from "seenguard";
import { guardFeed } from "../../feed.js";

guardFeed({ SeenGuard }, () => import("seenguard/formats"));
