/** What every app must have told, whichever way it got the package. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject } from "vitest";
import type { Chapters, Told } from "./apps/story.js";

export function readChapters(): Chapters {
  return JSON.parse(readFileSync(join(inject("installed"), "chapters.json"), "utf8")) as Chapters;
}

/** The guard worked: nothing that the snapshot holds came through, nor what was recorded. */
export function expectGuarded(told: Told | undefined, storage: string): void {
  const { page, fresh } = readChapters();
  expect(fresh.length).toBeGreaterThan(40);
  expect(fresh.length).toBeLessThan(page.length - 40);
  expect(told).toEqual({
    applied: true,
    before: fresh,
    unknown: 20,
    after: fresh.slice(20),
    pending: 20,
    engine: "wasm",
    storage,
    errors: [],
  });
}
