/** Reads what a device reports, from whatever the server's framework has made of the request's body. */
import { failure, SeenGuardError } from "../errors.js";
import { IMPRESSIONS, isImpressions } from "../impressions.js";
import { checkEach, isObject, isText, REQUIRED, type Rules } from "../options.js";
import type { Impression, Report } from "../types/server.js";
import { checkTime, type TimeOptions } from "./call-options.js";

const rules = {
  namespace: ["a text", isText, REQUIRED],
  now: ["the device's clock in Unix milliseconds", (now) => Number.isFinite(now) && (now as number) >= 0, REQUIRED],
  impressions: [`a list, ${IMPRESSIONS}`, (list) => isImpressions(list), REQUIRED],
  unseen: [`a list, ${IMPRESSIONS}`, (list) => isImpressions(list), []],
} satisfies Rules;

export function parseReport(body: unknown, options?: TimeOptions): Required<Report> {
  const arrivedAt = Math.round(checkTime("parseReport", options) * 1000);
  const { namespace, now, impressions, unseen } = checkReport(parsed(body));
  // As in the chain: a time of the device by the server's clock, none of them in the future.
  const translated = ({ id, at }: Impression): Impression => ({
    id,
    at: Math.round(Math.min(Math.max(at + arrivedAt - now, 0), arrivedAt)),
  });
  return { namespace, now: arrivedAt, impressions: impressions.map(translated), unseen: unseen.map(translated) };
}

/** Checks a report of any origin. Throws a `SeenGuardError`. */
export function checkReport(report: unknown): Required<Report> {
  try {
    if (!isObject(report)) badReport("body must be an object");
    const checked = checkEach(report, rules, badReport) as object as Required<Report>;
    return { ...checked, impressions: copyOf(checked.impressions), unseen: copyOf(checked.unseen) };
  } catch (cause) {
    // A getter of the app's may throw what it likes.
    throw cause instanceof SeenGuardError ? cause : failure("bad-report", "the report cannot be read", cause);
  }
}

/** What a body says: a framework passes a beacon, which is text/plain, as its text or as bytes. */
function parsed(body: unknown): unknown {
  try {
    const text = ArrayBuffer.isView(body) || body instanceof ArrayBuffer ? new TextDecoder().decode(body) : body;
    return typeof text === "string" ? (JSON.parse(text) as unknown) : text;
  } catch (cause) {
    throw failure("bad-report", "a report's body is no JSON", cause);
  }
}

function copyOf(impressions: readonly Impression[]): Impression[] {
  return Array.from(impressions, ({ id, at }) => ({ id, at }));
}

function badReport(message: string): never {
  throw new SeenGuardError("bad-report", `a report's ${message}`);
}
