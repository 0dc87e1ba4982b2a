/** Where the benchmarks run. */
import type { Effort } from "../measure.ts";
import type { Outcome } from "../workloads.ts";

/** Milliseconds that the steps of one start took, by name. */
export type Steps = Readonly<Record<string, number>>;

/** As JSON: ids, and a snapshot that contains all of them. */
export interface StoredImpressions {
  readonly ids: string;
  readonly message: string;
  readonly count: number;
}

export interface Place {
  readonly name: string;
  /** With its version. */
  readonly title: string;
  /** All workloads, warmed up. */
  suite(effort: Effort): Promise<Outcome[]>;
  /** Opening with stored impressions and without, again and again; a place without storage has none. */
  openings(impressions: StoredImpressions, times: number): Promise<Steps[]>;
  /** One start of each contender from nothing, with what the server sends them and the ids of the first page. */
  coldStarts(messages: Readonly<Record<"seenguard" | "Set", string>>, ids: string): Promise<Record<string, Steps>>;
  /** Bytes of the heap that a Set of these ids takes, which are given as JSON, or a Map from them to times. */
  heapOf(ids: string): Promise<number>;
  close(): Promise<void>;
}

export const say = (line: string): void => {
  console.error(`  ${line}`);
};
