/** The package in WebKit, the engine of iOS webviews: a page opened as a file with one plain script tag. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { SeenGuard } from "seenguard";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWebKit, type Session } from "../support/webkit-driver.js";

const root = new URL("../../", import.meta.url);

/** What the page's script has as a global. */
declare const Seenguard: typeof import("seenguard");
declare const guard: SeenGuard;

let session: Session;
let directory: string;
let shard: string;
/** Ids of which the shard holds some, and those that it does not hold. */
let page: string[];
let fresh: string[];

beforeAll(async () => {
  const ids = JSON.parse(await readFile(new URL("tests/vectors/ids.json", root), "utf8")) as string[];
  const vectors = await readFile(new URL("tests/vectors/native.json", root), "utf8");
  const { cases } = JSON.parse(vectors) as { cases: [{ base64: string; answers: string }] };
  const [{ base64, answers }] = cases;
  shard = base64;
  page = ids.slice(950, 1050);
  fresh = page.filter((_, index) => answers[950 + index] === "0");

  directory = await mkdtemp(join(tmpdir(), "seenguard-webkit-"));
  await copyFile(new URL("dist/seenguard.iife.js", root), join(directory, "seenguard.iife.js"));
  await writeFile(
    join(directory, "index.html"),
    '<!doctype html><meta charset="utf-8"><title>A feed</title><script src="seenguard.iife.js"></script>',
  );
  session = await startWebKit();
});

afterAll(async () => {
  await session.end();
  await rm(directory, { recursive: true, force: true });
});

describe("from a file", () => {
  test("ids in the server's shards and ids recorded here are stopped", async () => {
    await session.driver.get(pathToFileURL(join(directory, "index.html")).href);
    expect(await openGuard()).toEqual({ engine: "wasm", storage: "indexeddb", errors: [] });
    expect(fresh.length).toBeGreaterThan(30);
    expect(await inPage((shard) => guard.apply({ version: 1, shards: [shard] }), shard)).toMatchObject({
      applied: true,
    });
    expect(await inPage((page) => guard.filter(page), page)).toEqual(fresh);
    expect(await inPage((ids) => guard.record(ids), fresh.slice(0, 10))).toBe(10);
    expect(await inPage((page) => guard.filter(page), page)).toEqual(fresh.slice(10));
    await inPage(() => guard.flush());
  });

  test("after a reload recorded ids are still stopped, before any snapshot", async () => {
    await session.driver.navigate().refresh();
    expect(await inPage(() => typeof (globalThis as { guard?: SeenGuard }).guard)).toBe("undefined");
    expect(await openGuard()).toEqual({ engine: "wasm", storage: "indexeddb", errors: [] });
    expect(await inPage(() => guard.pending())).toEqual(fresh.slice(0, 10));
    expect(await inPage((fresh) => guard.filter(fresh), fresh)).toEqual(fresh.slice(10));
  });
});

/** Opens a guard as the page's global `guard`. */
function openGuard(): Promise<unknown> {
  return inPage(async () => {
    const errors: string[] = [];
    const onError = (error: Error) => errors.push(error.message);
    const opened = await Seenguard.SeenGuard.open({ namespace: "home:reader", onError });
    Object.assign(globalThis, { guard: opened });
    return { engine: opened.stats().engine, storage: opened.stats().storage, errors };
  });
}

/** Runs a function in the page, which sees nothing of this file but its argument. */
async function inPage<Result, Argument>(
  run: (argument: Argument) => Result | Promise<Result>,
  argument?: Argument,
): Promise<Result> {
  const script = `
    const [argument, done] = arguments;
    Promise.resolve().then(() => (${run.toString()})(argument)).then(
      (value) => done({ value }),
      (error) => done({ error: String(error) }),
    );`;
  const outcome = await session.driver.executeAsyncScript<{ value: Result } | { error: string }>(script, argument);
  if ("error" in outcome) throw new Error(outcome.error);
  return outcome.value;
}
