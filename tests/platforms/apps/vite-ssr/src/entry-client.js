/** What the page runs in the browser. */
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";

showFeed(
  {
    SeenGuard,
    fallback: () => import("seenguard/engine-js"),
    formatsFallback: () => import("seenguard/formats/engine-js"),
  },
  () => import("seenguard/formats"),
);
