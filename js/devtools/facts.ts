/** The numbers of a guard, as terms and their descriptions. */
import type { GuardStats, SeenGuard } from "../types/seenguard.js";
import { make, write } from "./elements.js";
import { bytes, count, rate } from "./format.js";

/** A term, and what it is for this guard. */
type Fact = readonly [term: string, describe: (stats: GuardStats, guard: SeenGuard) => string];

const ENGINES = { wasm: "WebAssembly", js: "JavaScript", none: "none" };
const STORAGES = {
  indexeddb: "IndexedDB",
  local: "localStorage",
  custom: "the app’s own",
  none: "none",
  unavailable: "unavailable",
  full: "full",
};

export const MAIN_FACTS: readonly Fact[] = [
  ["Pending", ({ pending }) => count(pending)],
  ["Stopped", (stats) => count(stoppedOf(stats))],
  ["Passed", ({ filtered }) => count(filtered.passed)],
  ["False positives", ({ serverFalsePositiveRate }) => rate(serverFalsePositiveRate)],
];

/** What snapshots brought is counted in characters of base64, each of which is a byte on the wire. */
export const OTHER_FACTS: readonly Fact[] = [
  ["Received", ({ received }) => bytes(received.characters)],
  ["Spared by references", ({ received }) => bytes(received.spared)],
  ["Remembered", ({ remembered }) => count(remembered)],
  ["Taken back", ({ unseen }) => count(unseen)],
  ["Shards", ({ shards }) => count(shards)],
  ["Version", (_stats, { version }) => (version === undefined ? "no version" : String(version))],
  ["Storage", ({ storage }) => STORAGES[storage]],
  ["Engine", ({ engine }) => ENGINES[engine]],
  ["Memory", (stats) => bytes(stats.bytes)],
];

export class FactList {
  readonly root: HTMLElement;
  private readonly descriptions: readonly HTMLElement[];

  constructor(
    className: string,
    private readonly facts: readonly Fact[],
  ) {
    this.descriptions = facts.map(() => make("dd"));
    const rows = facts.map(([term], index) => make("div", "", make("dt", "", term), this.descriptions[index] ?? ""));
    this.root = make("dl", className, ...rows);
  }

  show(stats: GuardStats, guard: SeenGuard): void {
    this.facts.forEach(([, describe], index) => {
      const description = this.descriptions[index];
      if (description) write(description, describe(stats, guard));
    });
  }
}

export function stoppedOf({ filtered }: GuardStats): number {
  return filtered.pending + filtered.memory + filtered.server + filtered.duplicate;
}
