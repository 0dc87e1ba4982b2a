/** The numbers of a guard, as terms and their descriptions. */
import type { GuardStats } from "../types/seenguard.js";
import { make, write } from "./elements.js";
import { bytes, count, plural, rate } from "./format.js";
import type { Monitor } from "./monitor.js";

/** A term, and its description for this guard. */
type Fact = readonly [term: string, describe: (stats: GuardStats, monitor: Monitor) => string];

const ENGINES = { wasm: "WebAssembly", js: "JavaScript", none: "none" };
const STORAGES = {
  indexeddb: "IndexedDB",
  custom: "the app’s own",
  none: "none",
  unavailable: "unavailable",
  full: "full",
};

export const MAIN_FACTS: readonly Fact[] = [
  ["Pending", ({ pending }) => count(pending)],
  ["Stopped", (_stats, monitor) => count(stoppedOf(monitor))],
  ["Passed", (_stats, { passed }) => count(passed)],
  ["False positives", ({ serverFalsePositiveRate }) => rate(serverFalsePositiveRate)],
];

/** Snapshots are counted in characters of base64, each of which is one byte on the wire. */
export const OTHER_FACTS: readonly Fact[] = [
  ["Received", (_stats, { received }) => bytes(received.characters)],
  ["By reference", (_stats, { received }) => `${count(received.references)} of ${plural(received.shards, "shard")}`],
  ["Remembered", ({ remembered }) => count(remembered)],
  ["Undelivered", ({ undelivered }) => count(undelivered)],
  ["Version", ({ version }) => (version === undefined ? "no version" : String(version))],
  ["Storage", ({ storage }) => STORAGES[storage]],
  ["Engine", ({ engine }) => ENGINES[engine]],
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

  show(stats: GuardStats, monitor: Monitor): void {
    this.facts.forEach(([, describe], index) => {
      const description = this.descriptions[index];
      if (description) write(description, describe(stats, monitor));
    });
  }
}

export function stoppedOf({ stoppedBy }: Monitor): number {
  return Object.values(stoppedBy).reduce((sum, number) => sum + number, 0);
}
