/** The page's script. */
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";

showFeed(
  { SeenGuard },
  () => import("seenguard/formats"),
  () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }),
);
