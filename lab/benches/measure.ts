/**
 * Measures contenders against each other in many short rounds, in which they take turns sample by sample, in another
 * order each time. So a disturbance of the machine affects all of them, ratios are between samples of the same time,
 * and no contender finds the processor's caches warm, as in an app that filters a page now and then. Tinybench does the
 * timing.
 */
import { Bench } from "tinybench";
import { randomBelow, shuffle } from "./ids.ts";

const below = randomBelow(1);

export interface Contender {
  readonly name: string;
  /** Prepares one repetition, untimed. Returns the function to time. */
  readonly prepare: () => () => unknown;
}

export interface Effort {
  readonly rounds: number;
  /** The time of each contender in each round; one that has used it up skips the rest of the round. */
  readonly roundMs: number;
  /** The time of each contender before the first round, for the engine's optimizations. */
  readonly warmupMs: number;
}

export interface Measured {
  readonly name: string;
  /** The time of one repetition, over all samples. */
  readonly ms: Spread;
  /** The first contender's time as a share of this one's, from the medians of each round. */
  readonly ratio: Spread;
}

/** Measures contenders of one workload, the first of which is the baseline. */
export async function measure(contenders: readonly Contender[], repeats: number, effort: Effort): Promise<Measured[]> {
  await samplesOfRound(contenders, repeats, effort.warmupMs);
  const samples = contenders.map((): number[] => []);
  const medians = contenders.map((): number[] => []);
  for (let round = 0; round < effort.rounds; round++) {
    const taken = await samplesOfRound(contenders, repeats, effort.roundMs);
    taken.forEach((times, index) => {
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

/** Returns the samples of each contender: milliseconds of one repetition. */
async function samplesOfRound(contenders: readonly Contender[], repeats: number, time: number): Promise<number[][]> {
  const players = contenders.map((contender) => ({
    sample: sampler(contender, repeats),
    samples: [] as number[],
    left: time,
  }));
  let playing = [...players];
  while (playing.length > 0) {
    // In a fixed order, the same contender would always run after the slowest one.
    shuffle(playing, below);
    for (const player of playing) {
      const sample = await player.sample();
      player.samples.push(sample);
      player.left -= sample * repeats;
    }
    playing = playing.filter(({ left }) => left > 0);
  }
  return players.map(({ samples }) => samples);
}

/** Returns a function that takes one sample: milliseconds of one repetition. */
function sampler({ name, prepare }: Contender, repeats: number): () => Promise<number> {
  const bench = new Bench({ time: 0, iterations: 1, warmup: false, retainSamples: true, throws: true });
  let ready: (() => unknown)[] = [];
  const beforeEach = () => {
    ready = Array.from({ length: repeats }, prepare);
  };
  // Return the result, so that no engine optimizes the work away.
  const atOnce = () => {
    let result: unknown;
    for (const run of ready) result = run();
    return result;
  };
  bench.add(name, atOnce, { beforeEach, async: false });
  return async () => {
    // A bench that has run would return its previous result.
    bench.reset();
    const [task] = await bench.run();
    const sample = task?.result.state === "completed" ? task.result.latency.samples?.at(-1) : undefined;
    if (sample === undefined) throw new Error(`${name} was not measured`);
    return sample / repeats;
  };
}

/** A median with its quartiles. */
export interface Spread {
  readonly median: number;
  /** The lower quartile. */
  readonly low: number;
  /** The upper quartile. */
  readonly high: number;
  readonly samples: number;
}

export function spreadOf(samples: readonly number[]): Spread {
  if (samples.length === 0) throw new Error("there are no samples");
  const sorted = [...samples].sort((a, b) => a - b);
  // Interpolated linearly.
  const at = (share: number): number => {
    const place = share * (sorted.length - 1);
    const [below = 0, above = below] = sorted.slice(Math.floor(place), Math.floor(place) + 2);
    return below + (above - below) * (place - Math.floor(place));
  };
  return { median: at(0.5), low: at(0.25), high: at(0.75), samples: samples.length };
}
