/** What the server's answers bring of shards, and what references spare, counted as the guard counts them. */
import type { SeenGuard } from "seenguard";
import { one } from "./column.ts";
import type { Experiment } from "./experiment.ts";
import { bytes } from "./format.ts";

export class Received {
  /** As of the last answer. */
  private characters = 0;
  private spared = 0;
  /** As of the last page. */
  private before = { characters: 0, spared: 0 };

  constructor(
    private readonly guard: SeenGuard,
    private readonly experiment: Experiment,
  ) {}

  /** Counts what has come since the last answer. */
  count(): void {
    const { characters, spared } = this.guard.stats().received;
    this.experiment.add({ shardBytes: characters - this.characters, sparedBytes: spared - this.spared });
    this.characters = characters;
    this.spared = spared;
  }

  /** Says what has come since the last page, this one included. */
  describeRefresh(): void {
    const { characters, spared } = this.before;
    this.before = { characters: this.characters, spared: this.spared };
    const [came, left] = [bytes(this.characters - characters), bytes(this.spared - spared)];
    one(document, "#last-page").textContent = `${came} came with it, ${left} spared`;
  }
}
