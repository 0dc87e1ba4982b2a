/** The numbers on the page. */
import type { SeenGuard } from "seenguard";
import { one } from "./column.ts";
import type { Experiment } from "./experiment.ts";
import { bytes, count, rate, storageState } from "./words.ts";

/** Chance that the guard stops an item that nobody has seen, by the server's shards or by this device's memory. */
export function falsePositiveRate(guard: SeenGuard): number {
  const { serverFalsePositiveRate, memoryFalsePositiveRate } = guard.stats();
  return 1 - (1 - serverFalsePositiveRate) * (1 - memoryFalsePositiveRate);
}

export function writeCounters(guard: SeenGuard, { counts }: Experiment): void {
  write("#count-impressions", count(counts.impressions));
  write("#count-repeats-unguarded", count(counts.repeatsUnguarded));
  write("#count-repeats-guarded", count(counts.repeatsGuarded));
  write("#count-stopped", count(counts.stopped));
  write("#count-pending", count(guard.stats().pending));
  write("#count-rate", rate(falsePositiveRate(guard)));
  write("#count-mistaken", count(counts.mistaken));
  write("#count-bytes", bytes(counts.shardBytes));
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
