/** All workloads in the place where this runs: the same bundle in Node and in Chromium. */
import { feedWorkloads } from "./feed-lists.ts";
import { measure, type Effort, type Measured } from "./measure.ts";
import { impressionWorkloads } from "./own-impressions.ts";
import type { Peer } from "./peer.ts";
import { peers, usualPeers } from "./peers.ts";
import { refreshWorkloads } from "./refreshes.ts";
import { serverWorkloads } from "./server/chain.ts";
import { shardSizeWorkloads } from "./shard-sizes.ts";
import { contendersOf, workloads, type Workload } from "./workloads.ts";

export interface Outcome {
  readonly workload: string;
  readonly title: string;
  readonly measured: readonly Measured[];
}

/** Each with contenders of its own. */
const otherWorkloads = [
  ...shardSizeWorkloads,
  ...refreshWorkloads,
  ...impressionWorkloads,
  ...feedWorkloads,
  ...serverWorkloads,
];

export async function runSuite(effort: Effort, say: (line: string) => void): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const workload of workloads) {
    say(workload.title);
    outcomes.push(await measurePeers(workload, workload.everyone === true ? peers : usualPeers, effort));
  }
  for (const { name, title, contenders, repeats } of otherWorkloads) {
    say(title);
    outcomes.push({ workload: name, title, measured: await measure(await contenders(), repeats, effort) });
  }
  return outcomes;
}

/** Pages of 2,000 and of 20 ids, against the Set alone. */
export async function runAgainstSet(effort: Effort): Promise<Outcome[]> {
  const both = usualPeers.filter(({ name }) => name === "seenguard" || name === "Set");
  const outcomes: Outcome[] = [];
  for (const workload of workloads.filter(({ name }) => name === "filter-2000" || name === "filter-20")) {
    outcomes.push(await measurePeers(workload, both, effort));
  }
  return outcomes;
}

async function measurePeers(workload: Workload, chosen: readonly Peer[], effort: Effort): Promise<Outcome> {
  const { name, title, repeats } = workload;
  return { workload: name, title, measured: await measure(await contendersOf(workload, chosen), repeats, effort) };
}
