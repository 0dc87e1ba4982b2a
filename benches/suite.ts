/** All workloads in the place where this runs: the same bundle in Node and in Chromium. */
import { measure, type Effort, type Measured } from "./measure.ts";
import { peers, slowPeers } from "./peers.ts";
import { shardSizeWorkloads } from "./shard-sizes.ts";
import { contendersOf, workloads } from "./workloads.ts";

export interface Outcome {
  readonly workload: string;
  readonly title: string;
  readonly measured: readonly Measured[];
}

export async function runSuite(effort: Effort, say: (line: string) => void): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const workload of workloads) {
    say(workload.title);
    const chosen = peers.filter((peer) => workload.slowToo === true || !slowPeers.includes(peer));
    const measured = await measure(await contendersOf(workload, chosen), workload.repeats, effort);
    outcomes.push({ workload: workload.name, title: workload.title, measured });
  }
  for (const { name, title, contenders, repeats } of shardSizeWorkloads) {
    say(title);
    outcomes.push({ workload: name, title, measured: await measure(await contenders(), repeats, effort) });
  }
  return outcomes;
}
