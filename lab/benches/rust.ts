/**
 * Runs the Rust benchmarks and reads criterion's results: many short turns of each contender, alternating.
 */
import { readdirSync, readFileSync } from "node:fs";
import { inProject } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { type Measured, spreadOf } from "./measure.ts";

/**
 * A criterion benchmark: the contenders' names in its source, to which it appends a turn's number, and in the tables.
 */
interface Benchmark {
  readonly bench: string;
  readonly group: string;
  readonly contenders: Readonly<Record<string, string>>;
}

const FILTER: Benchmark = {
  bench: "fastbloom",
  group: "filter-2000",
  contenders: { guard: "Guard", fastbloom: "fastbloom", "fastbloom-hashed-once": "fastbloom, hashed once" },
};

const SERVER: Benchmark = {
  bench: "server_chain",
  group: "server",
  contenders: { update: "`from_shards`, `record` of 10, `snapshot`", request: "`from_shards`, `filter`, `snapshot`" },
};

export const BRUTE_FORCE = "search by brute force";

/** The benchmark for this number of fingerprints. */
const searchAmong = (size: number): Benchmark => ({
  bench: "near_duplicates",
  group: `near-duplicates-${String(size)}`,
  contenders: { index: "search", "brute-force": BRUTE_FORCE, arrival: "search and insertion" },
});
const SIZES = [10_000, 100_000, 1_000_000];

/** Searches among this number of fingerprints, by the index and by brute force, and additions. */
export interface Searches {
  readonly size: number;
  readonly measured: readonly Measured[];
}

type Seconds = Readonly<Record<"warmUpSeconds" | "seconds", number>>;

/** Measures the guard, then the crate `fastbloom`. */
export async function measureFilters(seconds: Seconds): Promise<Measured[]> {
  await runBench(FILTER.bench, seconds);
  return measuredOf(FILTER);
}

/** Measures an update of a user's chain, then a request, each from the stored strings on. */
export async function measureServer(seconds: Seconds): Promise<Measured[]> {
  await runBench(SERVER.bench, seconds);
  return measuredOf(SERVER);
}

export async function measureSearches(seconds: Seconds): Promise<Searches[]> {
  await runBench("near_duplicates", seconds);
  return SIZES.map((size) => ({ size, measured: measuredOf(searchAmong(size)) }));
}

async function runBench(name: string, { warmUpSeconds, seconds }: Seconds): Promise<void> {
  const times = ["--warm-up-time", String(warmUpSeconds), "--measurement-time", String(seconds), "--sample-size", "10"];
  await run("cargo", ["bench", "--package", "seenguard-benches", "--bench", name, "--", ...times, "--noplot"]);
}

function measuredOf({ group, contenders }: Benchmark): Measured[] {
  const [own = []] = Object.keys(contenders).map((key) => mediansOf(group, key));
  return Object.entries(contenders).map(([key, name]): Measured => {
    const medians = mediansOf(group, key);
    if (medians.length !== own.length) throw new Error(`criterion left ${String(medians.length)} turns of ${name}`);
    const ratios = medians.map((median, turn) => (own[turn] ?? NaN) / median);
    return { name, ms: spreadOf(medians), ratio: spreadOf(ratios) };
  });
}

/** The median of each turn in milliseconds. */
function mediansOf(group: string, key: string): number[] {
  const turns = readdirSync(inProject("target", "criterion", group)).filter(
    (name) => name.startsWith(`${key}-`) && /^\d+$/.test(name.slice(key.length + 1)),
  );
  return turns.sort().map((turn) => {
    const path = inProject("target", "criterion", group, turn, "new", "estimates.json");
    const { median } = JSON.parse(readFileSync(path, "utf8")) as { median: { point_estimate: number } };
    return median.point_estimate / 1e6;
  });
}
