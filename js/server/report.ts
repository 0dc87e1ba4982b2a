/** Reads a device's report from a request's body, in any framework's form. */
import { readGiven, SeenGuardError } from "../errors.js";
import { copyImpressions, IMPRESSIONS } from "../input/impressions.js";
import { anything, checkEach, isObject, isNonEmptyString, REQUIRED, type Rules } from "../input/options.js";
import type { Impression, ReceivedReport } from "../types/server.js";
import { checkTime, type TimeOptions } from "./call-options.js";
import { call, serverEngine } from "./engine.js";

/** The requirement of a list in a report. */
const REPORTED = `must be a list, ${IMPRESSIONS}`;

/** The common rules of reports from devices and received reports. */
const commonRules = {
  namespace: ["a string", isNonEmptyString, REQUIRED],
  impressions: anything,
  unseen: anything,
  pending: anything,
} satisfies Rules;

const isTime = (time: unknown) => Number.isFinite(time) && (time as number) >= 0;
const reportRules = {
  ...commonRules,
  now: ["the device's clock in Unix milliseconds", isTime, REQUIRED],
} satisfies Rules;
const receivedRules = {
  ...commonRules,
  receivedAt: ["the server's clock in Unix milliseconds, as parseReport returns it", isTime, REQUIRED],
  forgotten: ["true or false", (value) => typeof value === "boolean"],
} satisfies Rules;

/** A report with a time of the device's or the server's clock. */
type Checked<Time extends string> = Omit<ReceivedReport, "receivedAt"> & Readonly<Record<Time, number>>;

export function parseReport(body: unknown, options?: TimeOptions): ReceivedReport {
  const receivedAt = Math.round(checkTime("parseReport", options) * 1000);
  const { now, impressions, unseen, ...report } = readPosted(body);
  const engine = serverEngine();
  const inServerTime = (list: readonly Impression[]): Impression[] => {
    const times = Float64Array.from(list, ({ at }) => at);
    const translated = call(engine, () => engine.classes.serverTimes(times, now, receivedAt));
    return list.map(({ id }, index) => ({ id, at: translated[index] ?? receivedAt }));
  };
  return { ...report, receivedAt, impressions: inServerTime(impressions), unseen: inServerTime(unseen) };
}

/** Reads the report that a device has posted, with times of its clock. Throws a `SeenGuardError`. */
export function readPosted(body: unknown): Checked<"now"> {
  return checkReport<"now">(parsed(body), reportRules);
}

/** The length of a body in bytes; 0 if a framework has parsed it. */
export function bytesOf(body: unknown): number {
  if (typeof body === "string") return new TextEncoder().encode(body).length;
  return ArrayBuffer.isView(body) || body instanceof ArrayBuffer ? body.byteLength : 0;
}

/** The strings and numbers of a report, in the engine's order. */
export function partsOfReport(report: ReceivedReport): { strings: string[]; numbers: Float64Array } {
  const { namespace, pending = "", receivedAt, impressions, unseen, forgotten = false } = report;
  const entries = [...unseen, ...impressions];
  return {
    strings: [namespace, pending, ...entries.map(({ id }) => id)],
    numbers: Float64Array.from([receivedAt, unseen.length, Number(forgotten), ...entries.map(({ at }) => at)]),
  };
}

/** Checks a report that was received. Throws a `SeenGuardError`. */
export function checkReceived(report: unknown): ReceivedReport {
  return checkReport<"receivedAt">(report, receivedRules);
}

function checkReport<Time extends string>(report: unknown, rules: Rules): Checked<Time> {
  return readGiven("bad-report", "the report", () => {
    if (!isObject(report)) badReport("body must be an object");
    const { impressions, unseen = [], pending, ...checked } = checkEach(report, rules, badReport);
    return {
      ...(checked as Checked<Time>),
      impressions: copyImpressions(impressions) ?? badReport(`impressions ${REPORTED}`),
      unseen: copyImpressions(unseen) ?? badReport(`unseen ${REPORTED}`),
      // An invalid pending list does not invalidate the report.
      ...(isNonEmptyString(pending) && { pending }),
    };
  });
}

/** The value of a body: a framework that does not parse JSON passes a string or bytes. */
function parsed(body: unknown): unknown {
  try {
    const decoded = ArrayBuffer.isView(body) || body instanceof ArrayBuffer ? new TextDecoder().decode(body) : body;
    return typeof decoded === "string" ? (JSON.parse(decoded) as unknown) : decoded;
  } catch (cause) {
    // The parser's message would contain a part of the body.
    throw new SeenGuardError("bad-report", "a report's body is not JSON", cause);
  }
}

function badReport(message: string): never {
  throw new SeenGuardError("bad-report", `a report's ${message}`);
}
