/** The page's script. */
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";

showFeed(
  {
    SeenGuard,
    fallback: () => import("seenguard/engine-js"),
    formatsFallback: () => import("seenguard/formats/engine-js"),
  },
  () => import("seenguard/formats"),
  () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }),
);
