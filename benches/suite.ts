/** All workloads in the place where this runs: the same bundle in Node and in Chromium. */
import { feedWorkloads } from "./feed-lists.ts";
import { measure, type Effort, type Measured } from "./measure.ts";
import { impressionWorkloads } from "./own-impressions.ts";
import { peers, usualPeers } from "./peers.ts";
import { refreshWorkloads } from "./refreshes.ts";
import { serverWorkloads } from "./server/chain.ts";
import { shardSizeWorkloads } from "./shard-sizes.ts";
import { contendersOf, workloads } from "./workloads.ts";

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
    const contenders = await contendersOf(workload, workload.everyone === true ? peers : usualPeers);
    const measured = await measure(contenders, workload.repeats, effort);
    outcomes.push({ workload: workload.name, title: workload.title, measured });
  }
  for (const { name, title, contenders, repeats } of otherWorkloads) {
    say(title);
    outcomes.push({ workload: name, title, measured: await measure(await contenders(), repeats, effort) });
  }
  return outcomes;
}
