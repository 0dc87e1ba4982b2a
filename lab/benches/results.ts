/** The results of a benchmark run: the content of bench/results.json. Times are milliseconds. */
import type { Bytes } from "./bytes.ts";
import type { Measured } from "./measure.ts";
import type { Searches } from "./rust.ts";
import type { Spread } from "./statistics.ts";
import type { Outcome } from "./suite.ts";

export interface PlaceResults {
  readonly name: string;
  readonly title: string;
  readonly outcomes: readonly Outcome[];
  /** Starts from nothing: for each contender its steps. */
  readonly cold: Readonly<Record<string, Readonly<Record<string, Spread>>>>;
}

export interface Results {
  /** When, as ISO 8601. */
  readonly at: string;
  /** The commit and the machine. */
  readonly run: string;
  /** Too few repetitions to be quoted. */
  readonly quick: boolean;
  readonly bytes: Bytes;
  readonly places: readonly PlaceResults[];
  /** `Guard` first, then the crate `fastbloom`. */
  readonly rust: readonly Measured[];
  readonly searches: readonly Searches[];
  readonly server: {
    /** An update, then a request. */
    readonly rust: readonly Measured[];
    /** The time of one of many updates at the same time, through Redis. */
    readonly update: Spread;
  };
}
