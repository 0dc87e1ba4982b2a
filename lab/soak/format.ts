/** Figures as the tables have them. */
import type { Histogram } from "hdr-histogram-js";

export const count = (value: number): string => value.toLocaleString("en");
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;

/** Of microseconds: median, p99 and the longest. */
export function timesOf(times: Histogram): string {
  if (times.totalCount === 0) return "none";
  const ms = (value: number) => `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} ms`;
  return [times.getValueAtPercentile(50), times.getValueAtPercentile(99), times.maxValue].map(ms).join(", ");
}
