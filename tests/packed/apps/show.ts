/** Shows an outcome: the feed to a person, all of it to the test. */
import type { Outcome } from "./scenario.js";

declare global {
  interface Window {
    outcome?: Outcome;
  }
}

export function show(outcome: Outcome): void {
  const feed = document.querySelector("#feed");
  for (const id of outcome.before) {
    const entry = document.createElement("li");
    entry.textContent = id;
    feed?.append(entry);
  }
  window.outcome = outcome;
}
