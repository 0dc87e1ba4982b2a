/** Checks what a device reports. */
import { failure, SeenGuardError } from "../errors.js";
import { IMPRESSIONS, isImpressions } from "../impressions.js";
import { checkEach, isText, REQUIRED, type Rules } from "../options.js";
import type { Impression, Report } from "../types/server.js";

const rules = {
  namespace: ["a text", isText, REQUIRED],
  now: ["the device's clock in Unix milliseconds", (now) => Number.isFinite(now) && (now as number) >= 0, REQUIRED],
  impressions: [`a list, ${IMPRESSIONS}`, (list) => isImpressions(list), REQUIRED],
  unseen: [`a list, ${IMPRESSIONS}`, (list) => isImpressions(list), []],
} satisfies Rules;

/** Reads a report of any origin. Throws a `SeenGuardError`. */
export function checkReport(report: unknown): Required<Report> {
  try {
    // What is no object has no impressions.
    const checked = checkEach(
      (report ?? {}) as Record<string, unknown>,
      rules,
      badReport,
    ) as object as Required<Report>;
    return { ...checked, impressions: copyOf(checked.impressions), unseen: copyOf(checked.unseen) };
  } catch (cause) {
    // A getter of the app's may throw what it likes.
    throw cause instanceof SeenGuardError ? cause : failure("bad-report", "the report cannot be read", cause);
  }
}

function copyOf(impressions: readonly Impression[]): Impression[] {
  return Array.from(impressions, ({ id, at }) => ({ id, at }));
}

function badReport(message: string): never {
  throw new SeenGuardError("bad-report", `a report's ${message}`);
}
