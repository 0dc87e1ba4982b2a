/** Formats numbers, times and explanations for people. */
import type { Explanation, GuardStats } from "seenguard";
import type { Item } from "./api.ts";

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export function count(value: number): string {
  return whole.format(value);
}

/** "1 repeat", "2 repeats". */
export function plural(value: number, noun: string): string {
  return `${whole.format(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A probability: "1 in 25,000". Below 1 in 10¹² doubles cannot distinguish it from 0. */
export function rate(value: number): string {
  if (value < 1e-12) return "under 1 in 10¹²";
  return `1 in ${value < 1e-6 ? short.format(1 / value) : whole.format(Math.round(1 / value))}`;
}

export function bytes(value: number): string {
  if (value < 10_000) return `${whole.format(value)} B`;
  if (value < 10_000_000) return `${whole.format(Math.round(value / 100) / 10)} kB`;
  return value < 10_000_000_000
    ? `${whole.format(Math.round(value / 1e6))} MB`
    : `${whole.format(Math.round(value / 1e9))} GB`;
}

export function lag(seconds: number): string {
  if (seconds < 60) return `${String(seconds)} s`;
  const rest = seconds % 60;
  return `${String(Math.floor(seconds / 60))} min${rest === 0 ? "" : ` ${String(rest)} s`}`;
}

/** Describes the state of the guard's storage. */
export function storageState(state: GuardStats["storage"]): string {
  switch (state) {
    case "indexeddb":
      return "Impressions are stored in IndexedDB.";
    case "custom":
      return "Impressions are stored in the demo's own storage.";
    case "full":
      return "The storage is full: new impressions are in this tab's memory only, until there is space.";
    case "unavailable":
      return "There is no storage: impressions are in this tab's memory only.";
    default:
      return `Impressions are stored in storage of the kind "${state}".`;
  }
}

/** Why the server has left out an item that this device has not shown. */
export function elsewhereReason(seenAt: number | undefined): string {
  const when = seenAt === undefined ? "" : ` ${ago(seenAt)}`;
  return `Left out by the server: another of your devices showed it${when}, and reported it before it arrived through the stream.`;
}

/** How long ago, roughly. */
export function ago(atMs: number): string {
  const seconds = Math.max(0, Math.round((Date.now() - atMs) / 1000));
  if (seconds < 90) return `${String(seconds)} s ago`;
  return seconds < 5400 ? `${String(Math.round(seconds / 60))} min ago` : `${String(Math.round(seconds / 3600))} h ago`;
}

/** The original of a copy, and how the server found it. */
export function copyReason({ title, by }: NonNullable<Item["copyOf"]>): string {
  return by === "address"
    ? `A repost of “${title}”, by its address`
    : `An edited copy of “${title}”, by the Simhash of its text`;
}

/** Why an item was stopped. `seenAt`: when the exact record has it; `undefined` for a false positive. */
export function reason(why: Explanation, seenAt: number | undefined, falsePositiveRate: number): string {
  const falsePositive = `a false positive, as about ${rate(falsePositiveRate)} items meets one`;
  const record =
    seenAt === undefined
      ? `By this page's exact record you have not seen it: ${falsePositive}.`
      : `You saw it ${ago(seenAt)}.`;
  if (!why.seen) return "It is in this list already, further up.";
  const shown = `It was on this screen at ${clock.format(why.at)}`;
  switch (why.by) {
    case "pending":
      return `Pending. ${shown}, and no snapshot of the server contains it yet.`;
    case "device":
      return `Remembered by this device, whether the server has it or not. ${shown}.`;
    case "server":
      return `Known to the server: a shard of its chain contains it. ${record}`;
  }
}
