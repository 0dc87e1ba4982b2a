/** Formatting of figures for the tables, and their trends over a run. */
import type { Histogram } from "hdr-histogram-js";
import { linearRegression, max, median, min } from "simple-statistics";

export const count = (value: number): string => value.toLocaleString("en");
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;

/** Formats times in microseconds: the median, p99 and the longest. */
export function timesOf(times: Histogram): string {
  if (times.totalCount === 0) return "none";
  const ms = (value: number) => `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} ms`;
  return [times.getValueAtPercentile(50), times.getValueAtPercentile(99), times.maxValue].map(ms).join(", ");
}

export interface Point {
  /** The time, in days or any other unit. */
  readonly at: number;
  readonly value: number;
}

export interface Trend {
  readonly median: number;
  /** The rise of the least-squares line from the first point to the last. */
  readonly drift: number;
  /** The variation around the line: the range of the residuals. */
  readonly spread: number;
  readonly isFlat: boolean;
}

/** A rise below this share of the median counts as none. */
const NEGLIGIBLE = 0.05;

/** Fits a line. It is flat if its rise is less than the variation around it, or less than 5% of the median. */
export function trendOf(points: readonly Point[]): Trend {
  const { m, b } = linearRegression(points.map(({ at, value }) => [at, value]));
  const residuals = points.map(({ at, value }) => value - (m * at + b));
  const times = points.map(({ at }) => at);
  const level = median(points.map(({ value }) => value));
  const drift = m * (max(times) - min(times));
  const spread = max(residuals) - min(residuals);
  return { median: level, drift, spread, isFlat: drift <= Math.max(spread, NEGLIGIBLE * level) };
}
