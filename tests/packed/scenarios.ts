/** The outcome that every app must have, whichever way it got the package. */
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

/** The guard worked: nothing that the snapshot holds came through, nor what was recorded. */
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

/** What `serve` in apps/server.js returns. */
export type ServerOutcome = Awaited<ReturnType<typeof serve>>;

/** The server could read what its store held, left out what was seen, and shipped what it recorded. */
export function expectServed(outcome: ServerOutcome): void {
  const { fresh } = readScenario();
  const planned = 20 * 281;
  expect(outcome).toEqual({ planned, rejected: [], fresh, recorded: fresh.length, applied: true, left: ["another"] });
}

/** The guard could not read the snapshot, said so, and worked without it. */
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
