/** Medians and how far around them the middle half of the samples lies. */

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
