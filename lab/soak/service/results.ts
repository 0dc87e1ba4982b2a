/** The criteria of a run of the service, and its table. */
import type { Histogram } from "hdr-histogram-js";
import { sum } from "simple-statistics";
import { loadChecksOf, type Check } from "../checks.ts";
import { count, megabytes, seconds, timesOf, trendOf } from "../figures.ts";
import { newTimes } from "../readers.ts";
import { QUIET_FROM, type ServiceOutcome } from "./soak.ts";

/** How often a run may fail by chance alone. */
const CHANCE = 1e-6;
/** After the last fault readers try again what has failed: for this share of the run. */
const SETTLED = 0.1;

export function checksOf({ load, site, memory, lost, poison }: ServiceOutcome): Check[] {
  const { found, of, expected } = site.falsePositives;
  return [
    ...loadChecksOf(load, lost),
    {
      what: "seen items are offered again",
      isMet: site.offeredAgain > 0,
      found: `${count(site.offeredAgain)} times`,
      isAsserted: true,
    },
    {
      what: "no more new items are left out than the filters' rate explains",
      isMet: chanceOf(found, expected) > CHANCE,
      found: `${count(found)} of ${count(of)}, at most ${expected.toFixed(0)} expected`,
      isAsserted: true,
    },
    ...(poison === undefined ? [] : [isSetAside(poison)]),
    ...[...memory].map(([part, points]): Check => {
      const { median, drift, spread, isFlat } = trendOf(points.filter(({ at }) => at >= QUIET_FROM + SETTLED));
      const figures = `${megabytes(median)}, grows by ${kilobytes(drift)}, varies by ${kilobytes(spread)}`;
      return {
        what: `the memory of the ${part} is flat once the faults are over`,
        isMet: isFlat,
        found: figures,
        isAsserted: true,
      };
    }),
  ];
}

/** A consumer that is killed may set one aside twice. */
function isSetAside({ sent, deadLetters }: NonNullable<ServiceOutcome["poison"]>): Check {
  const found = new Set(deadLetters);
  return {
    what: "the dead letters are the poison that was sent",
    isMet: sent.length > 0 && found.size === sent.length && sent.every((text) => found.has(text)),
    found: `${count(sent.length)} sent, ${count(deadLetters.length)} dead letters`,
    isAsserted: true,
  };
}

/** Rows of the table: what, and how much. */
export function rowsOf({
  load,
  site,
  strikes,
  memory,
  lost,
  lostByWoken,
  poison,
}: ServiceOutcome): Record<string, string> {
  const [during, after] = [
    together(strikes.map((strike) => strike.during)),
    together(strikes.map((strike) => strike.after)),
  ];
  const requests = sum([load.calm, during, after, load.reports].map(({ totalCount }) => totalCount));
  const acknowledged = [...load.acknowledged().values()].map(({ size }) => size);
  const { found, of, expected } = site.falsePositives;
  return {
    readers: count(acknowledged.length),
    "requests answered; failed and tried again": `${count(requests)}; ${count(load.failed)}`,
    "impressions acknowledged; of these lost": `${count(sum(acknowledged))}; ${count(lost.length)}`,
    "acknowledged by a master that had just woken, or meanwhile; lost": `${count(load.unsure.size)}; ${count(lostByWoken.length)}`,
    "seen items offered again; shown again": `${count(site.offeredAgain)}; ${count(load.repeats.length)}`,
    "pages that were degraded; seen on the other device, and shown again there": `${count(load.degraded.pages)}; ${count(load.degraded.repeats)}`,
    "new items left out; expected at most": `${count(found)} of ${count(of)}; ${expected.toFixed(0)}`,
    "poison sent; dead letters":
      poison === undefined ? "" : `${count(poison.sent.length)}; ${count(poison.deadLetters.length)}`,
    "a page, all parts running: median, p99, longest": timesOf(load.calm),
    "a page, during a fault": timesOf(during),
    "a page, in the five seconds after one": timesOf(after),
    "a report": timesOf(load.reports),
    ...Object.fromEntries(
      [...memory].map(([part, points]) => {
        const { median, drift } = trendOf(points);
        return [`memory of the ${part} in the second half; grows by`, `${megabytes(median)}; ${kilobytes(drift)}`];
      }),
    ),
    "each kind of fault, at worst": "until all was ready; a page",
    ...worstOf(strikes),
  };
}

type Strike = ServiceOutcome["strikes"][number];

/** Of each kind of fault, whichever part it befell: how long until all was ready, and the longest page meanwhile. */
function worstOf(strikes: readonly Strike[]): Record<string, string> {
  const kinds = new Map<string, Strike[]>();
  for (const strike of strikes) {
    const kind = kindOf(strike.name);
    kinds.set(kind, [...(kinds.get(kind) ?? []), strike]);
  }
  return Object.fromEntries(
    [...kinds]
      .map(([kind, all]): [string, string] => {
        const longest = Math.max(...all.map(({ during }) => during.maxValue));
        return [kind, `${seconds(Math.max(...all.map(({ ms }) => ms)))}; ${(longest / 1000).toFixed(0)} ms`];
      })
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function kindOf(name: string): string {
  const [what = name] = /\b(?:killed|stopped|slot moved|closed|silent|slow)\b.*/.exec(name) ?? [];
  return name.includes("link") ? `a link ${what}` : what;
}

function together(all: readonly Histogram[]): Histogram {
  const times = newTimes();
  for (const each of all) times.add(each);
  return times;
}

const kilobytes = (bytes: number): string => `${(bytes / 1024).toFixed(0)} KB`;

/** Chernoff's bound for N events or more where a smaller number is expected, each by itself. */
function chanceOf(found: number, expected: number): number {
  return found <= expected ? 1 : Math.exp(found - expected) * (expected / found) ** found;
}
