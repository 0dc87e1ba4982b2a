/** What each app must answer, on a page, from a server or in a test of its own. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Outcome } from "../packaging/apps/scenario.js";
import { openPage } from "../packaging/chromium.js";
import { expectGuarded, expectServed, type ServerOutcome } from "../packaging/scenarios.js";

/** What a page's code is tried with: the package's engines and entries, in the page and in a worker of it. */
export type Part = "page" | "engine-js" | "formats" | "worker";

export type Outcomes = Partial<Record<Part, Outcome>>;

export interface Expected {
  /** @default page, engine-js and formats */
  readonly parts?: readonly Part[];
  /** @default "indexeddb" */
  readonly storage?: Outcome["storage"];
  /** @default "wasm" */
  readonly engine?: Outcome["engine"];
  /** What `onError` is told. @default [] */
  readonly errors?: Outcome["errors"];
}

declare global {
  interface Window {
    outcomes?: Outcomes;
  }
}

export const PAGE_PARTS = ["page", "engine-js", "formats"] as const;

export function expectOutcomes(outcomes: Outcomes, expected: Expected = {}): void {
  const { parts = PAGE_PARTS, storage = "indexeddb", engine = "wasm", errors = [] } = expected;
  for (const part of parts) {
    const file = part === "formats" ? "guava-scenario.json" : "scenario.json";
    expectGuarded(outcomes[part], storage, file, { engine: part === "engine-js" ? "js" : engine, errors });
  }
}

/** The page guards its feed and complains of nothing. With `server`, it shows what its server answered. */
export async function expectPage(url: string, expected: Expected & { server?: true } = {}): Promise<void> {
  const { page, complaints } = await openPage(url);
  const outcomes = await page
    .waitForFunction(() => window.outcomes)
    .then((handle) => handle.jsonValue())
    .catch((error: unknown) => {
      throw new Error(`${url} has no outcome; its console says: ${complaints.join("\n")}`, { cause: error });
    });
  expectOutcomes(outcomes ?? {}, expected);
  if (expected.server) expectServed(JSON.parse(await page.locator("#server").innerText()) as ServerOutcome);
  expect(complaints).toEqual([]);
}

export async function expectEndpoint(url: string): Promise<void> {
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${String(response.status)}: ${text.slice(0, 500)}`);
  expectServed(JSON.parse(text) as ServerOutcome);
}

/** What a program or a test of the app has written as JSON. */
export async function readAnswer<T>(directory: string, file: string): Promise<T> {
  return JSON.parse(await readFile(join(directory, file), "utf8")) as T;
}
