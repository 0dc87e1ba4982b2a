/** Reads what a device reports, from whatever the server's framework has made of the request's body. */
import { failure, readGiven, SeenGuardError } from "../errors.js";
import { copyImpressions, REPORTED } from "../impressions.js";
import { anything, checkEach, isObject, isText, REQUIRED, type Rules } from "../options.js";
import type { Impression, Report } from "../types/server.js";
import { checkTime, type TimeOptions } from "./call-options.js";

const rules = {
  namespace: ["a text", isText, REQUIRED],
  now: ["the device's clock in Unix milliseconds", (now) => Number.isFinite(now) && (now as number) >= 0, REQUIRED],
  impressions: anything,
  unseen: anything,
} satisfies Rules;

export function parseReport(body: unknown, options?: TimeOptions): Required<Omit<Report, "pending">> {
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
export function checkReport(report: unknown): Required<Omit<Report, "pending">> {
  return readGiven("bad-report", "the report", () => {
    if (!isObject(report)) badReport("body must be an object");
    const { namespace, now, impressions, unseen = [] } = checkEach(report, rules, badReport) as object as Report;
    return {
      ...{ namespace, now },
      impressions: copyImpressions(impressions) ?? badReport(`impressions ${REPORTED}`),
      unseen: copyImpressions(unseen) ?? badReport(`unseen ${REPORTED}`),
    };
  });
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

function badReport(message: string): never {
  throw new SeenGuardError("bad-report", `a report's ${message}`);
}
