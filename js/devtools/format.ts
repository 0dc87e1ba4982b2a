/** Formats numbers, sizes, times and reasons for people. */
import type { Explanation } from "../types/seenguard.js";

/** The number of characters shown of an id, which may have any length. */
const SHOWN_START = 60;
const SHOWN_END = 12;

export function count(value: number): string {
  return value.toLocaleString("en");
}

/** "1 item", "2 items". */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A probability. Below 1 in 10¹² a double cannot distinguish it from 0. */
export function rate(value: number): string {
  if (value === 0) return "0";
  if (value < 1e-12) return "< 1 in 10¹²";
  const items = Math.round(1 / value);
  const options = items < 100_000 ? {} : ({ notation: "compact", maximumSignificantDigits: 3 } as const);
  return `1 in ${items.toLocaleString("en", options)}`;
}

export function bytes(value: number): string {
  const [size, unit] = value < 1000 ? [value, "B"] : value < 1e6 ? [value / 1000, "kB"] : [value / 1e6, "MB"];
  return `${size.toLocaleString("en", { maximumFractionDigits: value < 1000 || size >= 100 ? 0 : 1 })} ${unit}`;
}

/** In the largest units that it has, by default two of them: "12 s", "2 min 5 s", "1 d 3 h". */
export function duration(ms: number, units = 2): string {
  const seconds = Math.round(ms / 1000);
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  const shown = parts.slice(first, first + units).filter(([value]) => value > 0);
  return shown.map(([value, unit]) => `${value} ${unit}`).join(" ") || "0 s";
}

export function shortened(id: string): string {
  return id.length > SHOWN_START + SHOWN_END ? `${id.slice(0, SHOWN_START)}…${id.slice(-SHOWN_END)}` : id;
}

function ago(at: Date): string {
  return `shown here ${duration(Math.max(0, Date.now() - at.getTime()), 1)} ago`;
}

/** Why an item was stopped: one of its ids was seen, or it is a duplicate. */
export type Kind = Extract<Explanation, { seen: true }>["by"] | "duplicate";

export function kindOf(why: Explanation): Kind {
  return why.seen ? why.by : "duplicate";
}

/** Details of the reason. */
export function detailOf(why: Explanation): string {
  if (!why.seen) return "earlier in the same list";
  return why.at ? ago(why.at) : "contained in the server’s shards";
}
