/** The criteria of a run. */
import { count } from "./figures.ts";

export interface Check {
  readonly what: string;
  readonly isMet: boolean;
  /** The measured value. */
  readonly found: string;
  /** Whether the run fails if it is not met. Times are asserted only on a quiet machine. */
  readonly isAsserted: boolean;
}

/**
 * A check that there are no findings; the first ones are printed. @param of the number of tested cases: 0 proves
 * nothing
 */
export function none(what: string, findings: readonly string[], of?: number): Check {
  const shown = findings.slice(0, 10).map((finding) => `\n      ${finding}`);
  const number = findings.length === 0 ? "none" : String(findings.length);
  const found = `${number}${of === undefined ? "" : ` of ${count(of)}`}${shown.join("")}`;
  return { what, isMet: findings.length === 0 && of !== 0, found, isAsserted: true };
}

/** Prints the checks. Returns whether all asserted ones are met. */
export function printChecks(title: string, checks: readonly Check[], print: (line: string) => void): boolean {
  print(`\n${title}`);
  for (const { what, isMet, found, isAsserted } of checks) {
    const sign = isMet ? "✓" : isAsserted ? "✗" : "·";
    print(`  ${sign} ${what}: ${found}${isAsserted ? "" : " (reported, not asserted)"}`);
  }
  return checks.every(({ isMet, isAsserted }) => isMet || !isAsserted);
}
