/** The criteria of a run. */
import { count } from "./figures.ts";

export interface Check {
  readonly what: string;
  readonly isMet: boolean;
  /** The measured value. */
  readonly found: string;
  /** Whether the run fails where it is not met: times are checked on a quiet machine alone. */
  readonly isAsserted: boolean;
}

/** Findings, the first ones in full. @param of how many things could have been found: none of 0 proves nothing */
export function none(what: string, findings: readonly string[], of?: number): Check {
  const shown = findings.slice(0, 10).map((finding) => `\n      ${finding}`);
  const number = findings.length === 0 ? "none" : String(findings.length);
  const found = `${number}${of === undefined ? "" : ` of ${count(of)}`}${shown.join("")}`;
  return { what, isMet: findings.length === 0 && of !== 0, found, isAsserted: true };
}

/** Prints the checks. Returns whether all that are asserted are met. */
export function printChecks(title: string, checks: readonly Check[], say: (line: string) => void): boolean {
  say(`\n${title}`);
  for (const { what, isMet, found, isAsserted } of checks) {
    const sign = isMet ? "✓" : isAsserted ? "✗" : "·";
    say(`  ${sign} ${what}: ${found}${isAsserted ? "" : " (reported, not asserted)"}`);
  }
  return checks.every(({ isMet, isAsserted }) => isMet || !isAsserted);
}
