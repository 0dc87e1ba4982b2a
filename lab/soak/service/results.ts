/** The criteria of a run of the service, and its table. */
import type { Histogram } from "hdr-histogram-js";
import { sum } from "simple-statistics";
import { none, type Check } from "../checks.ts";
import { count, megabytes, seconds, timesOf, trendOf } from "../figures.ts";
import { newTimes } from "../readers.ts";
import { KINDS, type Injected } from "./faults.ts";
import { QUIET_FROM, type ServiceOutcome } from "./soak.ts";

/** Runs of fewer minutes only assert the guarantees, and report the rest, since they run next to other tests. */
const FULL_MINUTES = 10;
/** The accepted probability that a run fails by chance. */
const CHANCE = 1e-6;
/** The share of the run in which readers retry after the last fault. */
const SETTLED = 0.1;

export function checksOf(outcome: ServiceOutcome, minutes: number): Check[] {
  const { load, site, lost } = outcome;
  const promises = [
    none("acknowledged and lost", lost, acknowledgedBy(load)),
    none("shown again on either device", load.repeats, site.offeredAgain),
  ];
  const others = otherChecksOf(outcome);
  return [...promises, ...(minutes < FULL_MINUTES ? others.map((check) => ({ ...check, isAsserted: false })) : others)];
}

function otherChecksOf({ load, site, memory, poison }: ServiceOutcome): Check[] {
  const { found, of, expected } = site.falsePositives;
  const silent = [...load.acknowledged()].filter(([, ids]) => ids.size === 0).map(([user]) => user);
  return [
    none("never acknowledged", load.undelivered),
    none("answers that no fault explains", load.unexpected),
    none("readers of whom nothing was acknowledged", silent),
    {
      what: "no more new items are left out than the filters' rate explains",
      isMet: chanceOf(found, expected) > CHANCE,
      found: `${count(found)} of ${count(of)}, at most ${expected.toFixed(0)} expected`,
      isAsserted: true,
    },
    isSetAside(poison),
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

const acknowledgedBy = (load: ServiceOutcome["load"]): number =>
  sum([...load.acknowledged().values()].map(({ size }) => size));

/** A killed consumer may write a dead letter twice, and a failed append may have succeeded. */
function isSetAside({ sent, deadLetters }: ServiceOutcome["poison"]): Check {
  const found = new Set(deadLetters);
  return {
    what: "the dead letters are the poison that was sent",
    isMet: sent.length > 0 && found.size === sent.length && sent.every((text) => found.has(text)),
    found: `${count(sent.length)} sent, ${count(deadLetters.length)} dead letters`,
    isAsserted: true,
  };
}

/** The rows of the table: labels and values. */
export function rowsOf(outcome: ServiceOutcome): Record<string, string> {
  const { load, site, faults, memory, lost, lostByWoken, poison } = outcome;
  const [during, after] = [together(faults.map((one) => one.during)), together(faults.map((one) => one.after))];
  const requests = sum([load.calm, during, after, load.reports].map(({ totalCount }) => totalCount));
  const { found, of, expected } = site.falsePositives;
  return {
    readers: count(load.acknowledged().size),
    "requests answered; failed and retried": `${count(requests)}; ${count(load.failed)}`,
    "impressions acknowledged; of these lost": `${count(acknowledgedBy(load))}; ${count(lost.length)}`,
    "acknowledged by a master that had just woken, or meanwhile; lost": `${count(load.unsure.size)}; ${count(lostByWoken.length)}`,
    "seen items offered again; shown again": `${count(site.offeredAgain)}; ${count(load.repeats.length)}`,
    "`degraded` pages; seen on the other device, and shown again there": `${count(load.degraded.pages)}; ${count(load.degraded.repeats)}`,
    "new items left out; expected at most": `${count(found)} of ${count(of)}; ${expected.toFixed(0)}`,
    "poison sent; dead letters": `${count(poison.sent.length)}; ${count(poison.deadLetters.length)}`,
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
    ...worstOf(faults),
  };
}

/** For each kind of fault: the longest time until all was ready, and the longest page during it. */
function worstOf(faults: readonly Injected[]): Record<string, string> {
  const rows: Record<string, string> = {};
  for (const [kind, name] of Object.entries(KINDS)) {
    const all = faults.filter((fault) => fault.kind === kind);
    if (all.length === 0) continue;
    const longest = Math.max(...all.map(({ during }) => during.maxValue));
    rows[name] = `${seconds(Math.max(...all.map(({ ms }) => ms)))}; ${(longest / 1000).toFixed(0)} ms`;
  }
  return rows;
}

function together(all: readonly Histogram[]): Histogram {
  const times = newTimes();
  for (const each of all) times.add(each);
  return times;
}

const kilobytes = (bytes: number): string => `${(bytes / 1024).toFixed(0)} KB`;

/** Chernoff's bound of the probability of this number of independent events or more, if fewer are expected. */
function chanceOf(found: number, expected: number): number {
  return found <= expected ? 1 : Math.exp(found - expected) * (expected / found) ** found;
}
