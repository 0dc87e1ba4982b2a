/** The data that the test apps filter, and what an app must report, whichever way it got the package. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject } from "vitest";
import type { Chapters, Told } from "./apps/story.js";

/** Items and a snapshot: with a shard of the native format, or of Guava's. */
export type ChaptersFile = "chapters.json" | "guava-chapters.json";

export function readChapters(file: ChaptersFile = "chapters.json"): Chapters {
  return JSON.parse(readFileSync(join(inject("installed"), file), "utf8")) as Chapters;
}

/** The guard worked: nothing that the snapshot contains or that was recorded passed. */
export function expectGuarded(told: Told | undefined, storage: string, file?: ChaptersFile): void {
  const { page, fresh } = readChapters(file);
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

/** The guard could not read the snapshot, reported it, and worked without it. */
export function expectRefused(told: Told | undefined, storage: string): void {
  const ids = readChapters("guava-chapters.json").page.map(({ id }) => id);
  expect(told).toEqual({
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
