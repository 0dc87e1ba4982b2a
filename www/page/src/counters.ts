/** The numbers on the page. */
import type { SeenGuard } from "seenguard";
import { one } from "./column.ts";
import type { Experiment } from "./experiment.ts";
import { bytes, count, rate, storageState } from "./format.ts";

export function writeCounters(guard: SeenGuard, { counts }: Experiment): void {
  write("#count-impressions", count(counts.impressions));
  write("#count-repeats-unguarded", count(counts.repeatsUnguarded));
  write("#count-repeats-guarded", count(counts.repeatsGuarded));
  write("#count-stopped", count(counts.stopped));
  write("#count-pending", count(guard.stats().pending));
  write("#count-rate", rate(guard.stats().serverFalsePositiveRate));
  write("#count-mistaken", count(counts.mistaken));
  write("#count-bytes", bytes(counts.shardBytes));
  write("#count-spared", bytes(counts.sparedBytes));
  write("#older-states", count(counts.olderStates));
  write("#storage-state", storageState(guard.stats().storage));
  write("#pipeline-seen", count(counts.impressions));
  write('.view[data-view="unguarded"] b', count(counts.repeatsUnguarded));
  write('.view[data-view="guarded"] b', count(counts.repeatsGuarded));
}

function write(selector: string, text: string): void {
  const element = one(document, selector);
  if (element.textContent !== text) element.textContent = text;
}
