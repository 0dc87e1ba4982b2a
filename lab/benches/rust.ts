/**
 * Runs the Rust benchmarks and reads what criterion kept of them: many short turns of each contender, one after the
 * other.
 */
import { readdirSync, readFileSync } from "node:fs";
import { inProject } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { type Measured, spreadOf } from "./measure.ts";

/** A benchmark of criterion's: contenders as its source calls them, with a turn's number behind, and their names. */
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

/** Number of fingerprints. */
const searchAmong = (size: number): Benchmark => ({
  bench: "near_duplicates",
  group: `near-duplicates-${String(size)}`,
  contenders: { index: "search", "brute-force": BRUTE_FORCE, arrival: "search and insertion" },
});
const SIZES = [10_000, 100_000, 1_000_000];

/** Searches among this number of fingerprints: by the index, by brute force, and of what is then added. */
export interface Searches {
  readonly size: number;
  readonly measured: readonly Measured[];
}

type Seconds = Readonly<Record<"warmUpSeconds" | "seconds", number>>;

/** The guard first, then the crate `fastbloom`. */
export async function measureFilters(seconds: Seconds): Promise<Measured[]> {
  await runBench(FILTER.bench, seconds);
  return measuredOf(FILTER);
}

/** An update of a user's chain, then a request: what either takes from the stored texts on. */
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

/** Milliseconds, one a turn. */
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
