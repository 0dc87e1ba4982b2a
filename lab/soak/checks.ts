/** The criteria of a run. */
import { sum } from "simple-statistics";
import { count } from "./figures.ts";
import type { Load } from "./readers.ts";

export interface Check {
  readonly what: string;
  readonly isMet: boolean;
  /** The measured value. */
  readonly found: string;
  /** Whether the run fails where it is not met: times are checked on a quiet machine alone. */
  readonly isAsserted: boolean;
}

/** Findings, the first ones in full. */
export function none(what: string, findings: readonly string[]): Check {
  const shown = findings.slice(0, 10).map((finding) => `\n      ${finding}`);
  const found = findings.length === 0 ? "none" : `${String(findings.length)}${shown.join("")}`;
  return { what, isMet: findings.length === 0, found, isAsserted: true };
}

/** What holds of the readers of every server. @param lost of what was acknowledged */
export function loadChecksOf(load: Load<never>, lost: readonly string[]): Check[] {
  const acknowledged = [...load.acknowledged().values()].map(({ size }) => size);
  return [
    none("acknowledged and lost", lost),
    none("never acknowledged", load.undelivered),
    none("shown again on either device", load.repeats),
    none("answers that no fault explains", load.unexpected),
    {
      what: "every reader reports something",
      isMet: acknowledged.every((size) => size > 0),
      found: `${count(sum(acknowledged))} impressions of ${count(acknowledged.length)} readers`,
      isAsserted: true,
    },
  ];
}

/** Prints the checks. Returns whether all that are asserted are met. */
export function judge(title: string, checks: readonly Check[], say: (line: string) => void): boolean {
  say(`\n${title}`);
  for (const { what, isMet, found, isAsserted } of checks) {
    const sign = isMet ? "✓" : isAsserted ? "✗" : "·";
    say(`  ${sign} ${what}: ${found}${isAsserted ? "" : " (reported, not asserted)"}`);
  }
  return checks.every(({ isMet, isAsserted }) => isMet || !isAsserted);
}
