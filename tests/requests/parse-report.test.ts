/** `parseReport`: a device's report, read on the server. */
import { parseReport, SeenGuardError, type Report } from "seenguard/server";
import { describe, expect, test } from "vitest";
import { NOW } from "../support/node.js";

const NOW_MS = NOW * 1000;
const namespace = "home:ada";
const impressions = [{ id: "a", at: NOW_MS - 5000 }];
const body: Report = { namespace, now: NOW_MS, impressions };
const read = (report: unknown, now = NOW) => parseReport(report, { now });

describe("parseReport", () => {
  test("accepts a body in any framework's form: parsed, a string, bytes", () => {
    const text = JSON.stringify(body);
    const bytes = new TextEncoder().encode(text);
    for (const given of [body, text, Buffer.from(text), bytes, bytes.buffer]) {
      expect(read(given)).toEqual({ namespace, receivedAt: NOW_MS, impressions, unseen: [] });
    }
  });

  test("translates the times of a clock that is an hour ahead or behind", () => {
    for (const off of [3_600_000, -3_600_000]) {
      const impressions = [{ id: "a", at: NOW_MS - 5000 + off }];
      const unseen = [{ id: "b", at: NOW_MS - 1 + off }];
      expect(read({ namespace, now: NOW_MS + off, impressions, unseen })).toEqual({
        namespace,
        receivedAt: NOW_MS,
        impressions: [{ id: "a", at: NOW_MS - 5000 }],
        unseen: [{ id: "b", at: NOW_MS - 1 }],
      });
    }
  });

  test("counts a time in the future as now, and one from before 1970 as 1970", () => {
    const impressions = [
      { id: "later", at: NOW_MS + 1 },
      { id: "long ago", at: 1000 },
    ];
    const { impressions: translated } = read({ ...body, now: NOW_MS, impressions }, NOW);
    expect(translated[0]).toEqual({ id: "later", at: NOW_MS });
    expect(read({ ...body, now: 5000, impressions: [{ id: "x", at: 1000 }] }, 3).impressions[0]?.at).toBe(0);
  });

  test("uses the server's clock by default", () => {
    const before = Date.now();
    const { receivedAt, impressions } = parseReport({ ...body, now: 7_000, impressions: [{ id: "a", at: 6_000 }] });
    expect(receivedAt).toBeGreaterThanOrEqual(before);
    expect(impressions[0]?.at).toBe(receivedAt - 1000);
  });

  test("returns the device's pending list, and drops an invalid one", () => {
    expect(read({ ...body, pending: "name.1.shard" }).pending).toBe("name.1.shard");
    for (const pending of ["", 7, null, ["a"], undefined])
      expect(read({ ...body, pending })).not.toHaveProperty("pending");
  });

  test.each([
    ["no body at all", undefined],
    ["a form that nobody parsed", "impressions=3"],
    ["truncated JSON", '{"namespace":"home:ada"'],
    ["a list", [body]],
    ["null", "null"],
    ["no namespace", { ...body, namespace: undefined }],
    ["an empty namespace", { ...body, namespace: "" }],
    ["no clock", { ...body, now: undefined }],
    ["a clock before 1970", { ...body, now: -1 }],
    ["no impressions", { ...body, impressions: undefined }],
    ["an impression without a time", { ...body, impressions: [{ id: "a" }] }],
    ["an impression whose id is a number", { ...body, impressions: [{ id: 7, at: 1 }] }],
    ["a time that is a string", { ...body, impressions: [{ id: "a", at: "1" }] }],
    ["an unseen entry without an id", { ...body, unseen: [{ at: 1 }] }],
  ])("refuses %s with a message about it", (_, given) => {
    expect(() => read(given)).toThrow(SeenGuardError);
    expect(() => read(given)).toThrow(expect.objectContaining({ code: "bad-report" }) as Error);
    expect(() => read(given)).toThrow(/report's .* (must be|is not JSON)/);
  });

  test("refuses milliseconds as the server's time", () => {
    expect(() => parseReport(body, { now: NOW_MS })).toThrow(/Unix seconds/);
  });
});
