/**
 * How contenders are measured against each other: in many short rounds, each contender once a round, each round beginning with another one. So
 * what disturbs the machine for a while disturbs all of them, and a ratio is taken between neighbours in time. The timing itself is tinybench's.
 */
import { Bench } from "tinybench";
import { spreadOf, type Spread } from "./statistics.ts";

export interface Contender {
  readonly name: string;
  /** Makes ready for one repetition, which is not timed; what it returns is. */
  readonly prepare: () => () => unknown;
}

export interface Effort {
  readonly rounds: number;
  /** For each contender in each round. */
  readonly roundMs: number;
  /** For each contender before the first round, until the engine has optimised what it will. */
  readonly warmupMs: number;
}

export interface Measured {
  readonly name: string;
  /** Of all samples, for one repetition. */
  readonly ms: Spread;
  /** The first contender's time as a share of this one's: of the medians of each round. */
  readonly ratio: Spread;
}

/** Measures contenders of one workload; the first is the one that the others are compared with. */
export async function measure(contenders: readonly Contender[], repeats: number, effort: Effort): Promise<Measured[]> {
  await samplesOfRound(contenders, repeats, effort.warmupMs);
  const samples = contenders.map((): number[] => []);
  const medians = contenders.map((): number[] => []);
  for (let round = 0; round < effort.rounds; round++) {
    const order = contenders.map((_, index) => (index + round) % contenders.length);
    const taken = await samplesOfRound(
      order.flatMap((index) => contenders[index] ?? []),
      repeats,
      effort.roundMs,
    );
    order.forEach((index, place) => {
      const times = taken[place] ?? [];
      samples[index]?.push(...times);
      medians[index]?.push(spreadOf(times).median);
    });
  }
  return contenders.map(({ name }, index) => ({
    name,
    ms: spreadOf(samples[index] ?? []),
    ratio: spreadOf((medians[index] ?? []).map((median, round) => (medians[0]?.[round] ?? NaN) / median)),
  }));
}

/** For each contender its samples: milliseconds for one repetition. */
async function samplesOfRound(contenders: readonly Contender[], repeats: number, time: number): Promise<number[][]> {
  const bench = new Bench({ time, iterations: 1, warmup: false, retainSamples: true, throws: true });
  for (const { name, prepare } of contenders) {
    let ready: (() => unknown)[] = [];
    const beforeEach = () => {
      ready = Array.from({ length: repeats }, prepare);
    };
    bench.add(
      name,
      () => {
        let result: unknown;
        for (const run of ready) result = run();
        // Handed out, so that no engine finds that nobody needs it.
        return result;
      },
      { beforeEach, async: false },
    );
  }
  const tasks = await bench.run();
  return tasks.map((task) => {
    if (task.result.state !== "completed") throw new Error(`${task.name} was not measured: ${task.result.state}`);
    return (task.result.latency.samples ?? []).map((ms) => ms / repeats);
  });
}
