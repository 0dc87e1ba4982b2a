/** The numbers on the page. */
import type { SeenGuard } from "seenguard";
import { one } from "./column.ts";
import type { Experiment } from "./experiment.ts";
import { count, storageState } from "./format.ts";

export function writeCounters(guard: SeenGuard, { counts, phoneCounts }: Experiment): void {
  write("#count-impressions", count(counts.impressions));
  write("#count-repeats-unguarded", count(counts.repeatsUnguarded));
  write("#count-repeats-guarded", count(counts.repeatsGuarded));
  write("#count-stopped", count(counts.stopped));
  write("#count-elsewhere", count(counts.elsewhere));
  write("#count-mistaken", count(counts.mistaken));
  write("#older-states", count(counts.olderStates));
  write("#storage-state", storageState(guard.stats().storage));
  write("#pipeline-seen", count(counts.impressions));
  write('.view[data-view="unguarded"] b', count(counts.repeatsUnguarded));
  write('.view[data-view="guarded"] b', count(counts.repeatsGuarded));
  write("#phone .score b", count(phoneCounts.elsewhere));
  write('.view[data-view="phone"] b', count(phoneCounts.elsewhere));
}

function write(selector: string, text: string): void {
  const element = one(document, selector);
  if (element.textContent !== text) element.textContent = text;
}
