/** All workloads in the place where this runs: the same bundle in Node and in Chromium. */
import { measure, type Effort, type Measured } from "./measure.ts";
import type { Peer } from "./peer.ts";
import { peers, usualPeers } from "./peers.ts";
import { contendersOf, workloads, type Workload } from "./workloads.ts";

export interface Outcome {
  readonly workload: string;
  readonly title: string;
  readonly measured: readonly Measured[];
}

export async function runSuite(effort: Effort, say: (line: string) => void): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const workload of workloads) {
    say(workload.title);
    outcomes.push(await measurePeers(workload, workload.everyone === true ? peers : usualPeers, effort));
  }
  return outcomes;
}

async function measurePeers(workload: Workload, chosen: readonly Peer[], effort: Effort): Promise<Outcome> {
  const { name, title, repeats } = workload;
  return { workload: name, title, measured: await measure(await contendersOf(workload, chosen), repeats, effort) };
}
