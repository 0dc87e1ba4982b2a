/**
 * How contenders are measured against each other: in many short rounds, in which they take turns sample by sample, in
 * another order each time. So what disturbs the machine for a while disturbs all of them, a ratio is taken between
 * neighbours in time, and nobody finds the processor's caches as it left them itself: a page that is filtered now and
 * then does not, either. The timing itself is tinybench's.
 */
import { Bench } from "tinybench";
import { randomBelow, shuffle } from "./ids.ts";

const below = randomBelow(1);

export interface Contender {
  readonly name: string;
  /** Makes ready for one repetition, which is not timed; what it returns is. */
  readonly prepare: () => () => unknown;
}

export interface Effort {
  readonly rounds: number;
  /** For each contender in each round: who has had so much sits out the rest of it. */
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

/** For each contender its samples: milliseconds for one repetition. */
async function samplesOfRound(contenders: readonly Contender[], repeats: number, time: number): Promise<number[][]> {
  const players = contenders.map((contender) => ({
    sample: sampler(contender, repeats),
    samples: [] as number[],
    left: time,
  }));
  let playing = [...players];
  while (playing.length > 0) {
    // In one order, the same contender would always run after the slowest one.
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

/** Returns what takes one sample: milliseconds for one repetition. */
function sampler({ name, prepare }: Contender, repeats: number): () => Promise<number> {
  const bench = new Bench({ time: 0, iterations: 1, warmup: false, retainSamples: true, throws: true });
  let ready: (() => unknown)[] = [];
  const beforeEach = () => {
    ready = Array.from({ length: repeats }, prepare);
  };
  // The result is handed out, so that no engine finds that nobody needs it.
  const atOnce = () => {
    let result: unknown;
    for (const run of ready) result = run();
    return result;
  };
  bench.add(name, atOnce, { beforeEach, async: false });
  return async () => {
    // Without this, a bench that has run does not run again: it answers with what it found then.
    bench.reset();
    const [task] = await bench.run();
    const sample = task?.result.state === "completed" ? task.result.latency.samples?.at(-1) : undefined;
    if (sample === undefined) throw new Error(`${name} was not measured`);
    return sample / repeats;
  };
}

/** A median, and how far around it the middle half of the samples lies. */
export interface Spread {
  readonly median: number;
  /** A quarter of the samples lies below. */
  readonly low: number;
  /** A quarter of the samples lies above. */
  readonly high: number;
  readonly samples: number;
}

export function spreadOf(samples: readonly number[]): Spread {
  if (samples.length === 0) throw new Error("there are no samples");
  const sorted = [...samples].sort((a, b) => a - b);
  // Between two samples, linearly.
  const at = (share: number): number => {
    const place = share * (sorted.length - 1);
    const [below = 0, above = below] = sorted.slice(Math.floor(place), Math.floor(place) + 2);
    return below + (above - below) * (place - Math.floor(place));
  };
  return { median: at(0.5), low: at(0.25), high: at(0.75), samples: samples.length };
}
