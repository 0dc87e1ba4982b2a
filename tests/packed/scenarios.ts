/** The outcome that every app must have, however it imports the package. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject } from "vitest";
import type { Outcome, Scenario } from "./apps/scenario.js";
import type { serve } from "./apps/server.js";

/** A scenario's file: with a shard of the native format, or with one of Guava's. */
export type ScenarioFile = "scenario.json" | "guava-scenario.json";

export function readScenario(file: ScenarioFile = "scenario.json"): Scenario {
  return JSON.parse(readFileSync(join(inject("installed"), file), "utf8")) as Scenario;
}

/** Expects that the guard worked: no item in the snapshot passed, and no recorded one. */
export function expectGuarded(
  outcome: Outcome | undefined,
  storage: string,
  file?: ScenarioFile,
  { engine = "wasm", errors = [] }: Partial<Pick<Outcome, "engine" | "errors">> = {},
): void {
  const { page, fresh } = readScenario(file);
  expect(fresh.length).toBeGreaterThan(40);
  expect(fresh.length).toBeLessThan(page.length - 40);
  expect(outcome).toEqual({
    applied: true,
    before: fresh,
    unknown: 20,
    after: fresh.slice(20),
    pending: 20,
    engine,
    storage,
    errors,
  });
}

/** The result of `serve` in apps/server.js. */
export type ServerOutcome = Awaited<ReturnType<typeof serve>>;

/** Expects that the server read its store, left out seen items, and sent its recordings. */
export function expectServed(outcome: ServerOutcome): void {
  const { fresh } = readScenario();
  const planned = 20 * 281;
  expect(outcome).toEqual({ planned, rejected: [], fresh, recorded: fresh.length, applied: true, left: ["another"] });
}

/** Expects that the guard refused the snapshot, reported it, and worked without it. */
export function expectRefused(outcome: Outcome | undefined, storage: string): void {
  const ids = readScenario("guava-scenario.json").page.map(({ id }) => id);
  expect(outcome).toEqual({
    applied: false,
    before: ids,
    unknown: 20,
    after: ids.slice(20),
    pending: 20,
    engine: "wasm",
    storage,
    errors: ["bad-snapshot"],
  });
}
