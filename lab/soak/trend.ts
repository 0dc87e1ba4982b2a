/** Whether a quantity grows over a run. */
import { linearRegression, max, median, min } from "simple-statistics";

export interface Point {
  /** In days, or any other unit. */
  readonly at: number;
  readonly value: number;
}

export interface Trend {
  readonly median: number;
  /** By how much the least-squares line rises from the first point to the last. */
  readonly drift: number;
  /** From the lowest residual to the highest: how much the values vary around the line. */
  readonly spread: number;
  readonly isFlat: boolean;
}

/** A rise below this share of the median is none that anybody would notice. */
const NEGLIGIBLE = 0.05;

/** Flat: the rise over the whole period is less than the values vary around it, or less than 5% of their median. */
export function trendOf(points: readonly Point[]): Trend {
  const { m, b } = linearRegression(points.map(({ at, value }) => [at, value]));
  const residuals = points.map(({ at, value }) => value - (m * at + b));
  const times = points.map(({ at }) => at);
  const level = median(points.map(({ value }) => value));
  const drift = m * (max(times) - min(times));
  const spread = max(residuals) - min(residuals);
  return { median: level, drift, spread, isFlat: drift <= Math.max(spread, NEGLIGIBLE * level) };
}
