/** Runs all benchmarks, prints the tables and writes bench/results.json. See `run.mjs` for the arguments. */
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { inProject } from "../../scripts/lib/paths.mjs";
import { writeTables } from "../../scripts/lib/tables.mjs";
import { weigh } from "./bytes.ts";
import { candidatesOf, shortIds } from "./ids.ts";
import { describeRun } from "./machine.ts";
import { peers, senders } from "./peers.ts";
import { chromiumPlace } from "./places/chromium.ts";
import { nodePlace } from "./places/node.ts";
import { bundleAll, type Place, print, type Steps } from "./places/place.ts";
import { measureFilters, measureSearches, measureServer } from "./rust.ts";
import { measureUpdates } from "./server/updates.ts";
import { spreadOf, type Spread } from "./measure.ts";
import { tablesOfBytes, tablesOfTimes, type PlaceResults, type Results } from "./tables.ts";

const FULL = {
  effort: { rounds: 30, roundMs: 40, warmupMs: 500 },
  starts: 25,
  updates: { rounds: 10, updatesARound: 2000 },
  rust: { warmUpSeconds: 0.2, seconds: 0.5 },
};

/** The least effort, which only shows that everything runs. */
const SMOKE = {
  effort: { rounds: 1, roundMs: 1, warmupMs: 1 },
  starts: 1,
  updates: { rounds: 1, updatesARound: 100 },
  rust: { warmUpSeconds: 0.001, seconds: 0.01 },
};

const { values } = parseArgs({
  options: {
    smoke: { type: "boolean" },
    bytes: { type: "boolean" },
    readme: { type: "boolean" },
  },
});
const samples = values.smoke === true ? SMOKE : FULL;

async function main(): Promise<void> {
  let tables: Record<string, string>;
  if (values.bytes === true) {
    tables = tablesOfBytes(await weigh(senders, await placesToOpen()));
  } else {
    const results = await measureEverything(samples);
    mkdirSync(inProject("bench"), { recursive: true });
    writeFileSync(inProject("bench", "results.json"), `${JSON.stringify(results, undefined, 2)}\n`);
    tables = { ...tablesOfBytes(results.bytes), ...tablesOfTimes(results) };
  }
  console.log(Object.values(tables).join("\n\n"));
  if (values.readme === true) await writeTables(tables, ["README.md", "docs/performance.md"]);
}

async function measureEverything({ effort, starts, updates, rust }: typeof FULL): Promise<Results> {
  const run = await describeRun();
  const open = await placesToOpen();
  const bytes = await weigh(senders, open);
  const places: PlaceResults[] = [];
  for (const openPlace of open) {
    const place = await openPlace();
    print(`${place.title}: every contender in turn`);
    const outcomes = await place.suite(effort);
    print(`${place.title}: starts from nothing`);
    const cold = { ...(await coldStarts(place, starts)), ...(await openings(place, starts)) };
    places.push({ name: place.name, title: place.title, outcomes, cold });
    await place.close();
  }
  print("Rust: the guard next to fastbloom");
  const filters = await measureFilters(rust);
  print("Rust: near-duplicates next to brute force");
  const searches = await measureSearches(rust);
  print("Rust: a server's chain");
  const serverRust = await measureServer(rust);
  print("Node: updates through Redis");
  const update = spreadOf(await measureUpdates(updates.rounds, updates.updatesARound));
  return {
    at: new Date().toISOString(),
    run,
    quick: samples !== FULL,
    bytes,
    places,
    rust: filters,
    searches,
    server: { rust: serverRust, update },
  };
}

/** Functions that open each runtime. */
async function placesToOpen(): Promise<(() => Promise<Place>)[]> {
  const files = await bundleAll();
  return [() => Promise.resolve(nodePlace(files)), () => chromiumPlace(files)];
}

/** Measures cold starts, with the contenders in turns. */
async function coldStarts(place: Place, times: number): Promise<PlaceResults["cold"]> {
  const shards = Array.from({ length: 5 }, (_, seed) => shortIds(1000, seed));
  const messageOf = async (name: string) => peers.find((peer) => peer.name === name)?.message(shards) ?? "";
  const messages = { seenguard: await messageOf("seenguard"), Set: await messageOf("Set") };
  const ids = JSON.stringify(candidatesOf(shards.flat(), 20, shortIds, 7));
  const starts: Record<string, Steps>[] = [];
  for (let time = 0; time < times; time++) starts.push(await place.coldStarts(messages, ids));
  const names = Object.keys(starts[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, spreadsOf(starts.map((start) => start[name] ?? {}))]));
}

/** Measures opening with 10,000 stored impressions, and with none. */
async function openings(place: Place, times: number): Promise<PlaceResults["cold"]> {
  const ids = shortIds(10_000, 99);
  const message = (await peers[0]?.message([ids])) ?? "";
  const steps = await place.openings({ ids: JSON.stringify(ids), message, count: ids.length }, times);
  return steps.length === 0 ? {} : { impressions: spreadsOf(steps) };
}

function spreadsOf(runs: readonly Steps[]): Record<string, Spread> {
  const steps = Object.keys(runs[0] ?? {});
  return Object.fromEntries(steps.map((step) => [step, spreadOf(runs.map((run) => run[step] ?? NaN))]));
}

await main();
