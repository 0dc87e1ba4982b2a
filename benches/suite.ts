/** All workloads in the place where this runs: the same bundle in Node and in Chromium. */
import { measure, type Effort, type Measured } from "./measure.ts";
import { peers } from "./peers.ts";
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
    const measured = await measure(await contendersOf(workload, peers), workload.repeats, effort);
    outcomes.push({ workload: workload.name, title: workload.title, measured });
  }
  return outcomes;
}
