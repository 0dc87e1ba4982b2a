/** Runs everything, prints the tables and writes bench/results.json. `run.mjs` says what the arguments are. */
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { inProject } from "../scripts/lib/paths.mjs";
import { weigh } from "./bytes.ts";
import { candidatesOf, shortIds } from "./ids.ts";
import { describeLoad, describeMachine } from "./machine.ts";
import { barsOf } from "./bars.ts";
import { peers } from "./peers.ts";
import { bundleSuite } from "./places/bundle.ts";
import { chromiumPlace } from "./places/chromium.ts";
import { nodePlace } from "./places/node.ts";
import { say, type Place, type Steps } from "./places/place.ts";
import { writeTables } from "./readme.ts";
import type { PlaceResults, Results } from "./results.ts";
import { measureRust } from "./rust.ts";
import { spreadOf } from "./statistics.ts";
import { tablesOfBytes, tablesOfTimes } from "./tables.ts";

const FULL = {
  effort: { rounds: 30, roundMs: 40, warmupMs: 500 },
  starts: 25,
  rust: { warmUpSeconds: 0.2, seconds: 0.5 },
};
const QUICK = {
  effort: { rounds: 3, roundMs: 20, warmupMs: 60 },
  starts: 3,
  rust: { warmUpSeconds: 0.05, seconds: 0.1 },
};

const { values } = parseArgs({
  options: { quick: { type: "boolean" }, bytes: { type: "boolean" }, readme: { type: "boolean" } },
});

async function main(): Promise<void> {
  let tables: Record<string, string>;
  if (values.bytes === true) {
    tables = tablesOfBytes(await weigh(peers, await openings()));
  } else {
    const results = await measureEverything(values.quick === true ? QUICK : FULL);
    mkdirSync(inProject("bench"), { recursive: true });
    writeFileSync(inProject("bench", "results.json"), `${JSON.stringify(results, undefined, 2)}\n`);
    tables = { ...tablesOfBytes(results.bytes), ...tablesOfTimes(results) };
  }
  console.log(Object.values(tables).join("\n\n"));
  if (values.readme === true) await writeTables(tables);
}

async function measureEverything({ effort, starts, rust }: typeof FULL): Promise<Results> {
  const open = await openings();
  const bytes = await weigh(peers, open);
  const places: PlaceResults[] = [];
  for (const openPlace of open) {
    const place = await openPlace();
    say(`${place.title}: every contender in turn`);
    const outcomes = await place.suite(effort);
    say(`${place.title}: starts from nothing`);
    const cold = await coldStarts(place, starts);
    places.push({ name: place.name, title: place.title, outcomes, cold });
    await place.close();
  }
  say("Rust: the guard beside fastbloom");
  const inRust = await measureRust(rust);
  const machine = describeMachine() + describeLoad();
  const found = { at: new Date().toISOString(), machine, quick: values.quick === true, bytes, places, rust: inRust };
  return { ...found, bars: barsOf(found) };
}

/** How to open each place. */
async function openings(): Promise<(() => Promise<Place>)[]> {
  const suiteFile = await bundleSuite();
  return [() => Promise.resolve(nodePlace(suiteFile)), () => chromiumPlace(suiteFile)];
}

/** Starts from nothing, one contender after the other, again and again. */
async function coldStarts(place: Place, times: number): Promise<PlaceResults["cold"]> {
  const shards = Array.from({ length: 5 }, (_, seed) => shortIds(1000, seed));
  const messageOf = async (name: string) => peers.find((peer) => peer.name === name)?.message(shards) ?? "";
  const messages = { seenguard: await messageOf("seenguard"), Set: await messageOf("Set") };
  const ids = JSON.stringify(candidatesOf(shards.flat(), 20, shortIds, 7));
  const starts: Record<string, Steps>[] = [];
  for (let time = 0; time < times; time++) starts.push(await place.coldStarts(messages, ids));
  const spreads = (name: string) =>
    Object.fromEntries(
      Object.keys(starts[0]?.[name] ?? {}).map((step) => [
        step,
        spreadOf(starts.map((start) => start[name]?.[step] ?? NaN)),
      ]),
    );
  return Object.fromEntries(Object.keys(starts[0] ?? {}).map((name) => [name, spreads(name)]));
}

await main();
