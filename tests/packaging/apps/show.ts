/** Shows what was told: the feed for a person, the rest for the test. */
import type { Told } from "./story.js";

declare global {
  interface Window {
    told?: Told;
    /** What a page does that makes shards itself: tells which ids they hold, and one more. */
    makeShards: (ids: string[]) => Promise<{ held: boolean[]; isChain: boolean }>;
  }
}

export function show(told: Told): void {
  const feed = document.querySelector("#feed");
  for (const id of told.before) {
    const entry = document.createElement("li");
    entry.textContent = id;
    feed?.append(entry);
  }
  window.told = told;
}
