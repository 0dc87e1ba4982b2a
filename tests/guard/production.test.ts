/** The build for production, as a script tag loads it: few options are checked, and no misuse is reported. */
import type { SeenGuard } from "seenguard";
import { describe, expect, test } from "vitest";
import { newPage, openGuard, uniqueNamespace } from "../support/node.js";

/** What code without types may pass. */
const untyped = (value: unknown) => value as never;

async function openInProduction(options: object = {}) {
  return openGuard({ ...options }, newPage({ fetch: () => Promise.resolve("sent as it is") }));
}

test("the build for production checks the namespace, windowDays and remember", async () => {
  const page = newPage();
  const right = { namespace: uniqueNamespace(), storage: "none" } as const;
  for (const wrong of [{ namespace: "" }, { namespace: 7 }, { windowDays: 0 }, { windowDays: "30" }, { remember: 0.5 }])
    await expect(page.SeenGuard.open(untyped({ ...right, ...wrong }))).rejects.toMatchObject({ code: "bad-option" });
  await expect(page.SeenGuard.open(untyped(undefined))).rejects.toMatchObject({ code: "bad-option" });
  await expect(page.SeenGuard.clear("")).rejects.toMatchObject({ code: "bad-option" });
});

describe("the build for production ignores other wrong options", () => {
  const calls: [string, (guard: SeenGuard) => unknown][] = [
    ["a list's key", (guard) => guard.feed(untyped({ key: 7, name: "home" })).filter(["a", "seen"])],
    ["options that are a string", (guard) => guard.feed(untyped("home")).filter(["a", "seen"])],
    [
      "options of fill",
      async (guard) => {
        const options = untyped({ maxPages: -1, timeoutMs: Infinity, signal: {}, id: "id" });
        const fetchPage = () => Promise.resolve(["a", "seen"]);
        return (await guard.feed().fill(fetchPage, untyped("many"), options)).items;
      },
    ],
  ];
  test.each(calls)("%s", async (_, list) => {
    const { guard, errors } = await openInProduction({ fallback: 7, onLag: "lag", colour: "red" });
    guard.record("seen", untyped({ local: "yes" }));
    expect(guard.pending()).toEqual(["seen"]);
    expect(await list(guard)).toEqual(["a"]);
    expect(errors).toEqual([]);
  });

  test("a fetch without `match`, which changes no request", async () => {
    const { guard } = await openInProduction();
    guard.record("a");
    const seen: unknown[] = [];
    const network = (...request: unknown[]) => Promise.resolve(void seen.push(request));
    await guard.fetch(untyped({ match: 7, fetch: network }))("https://feed.example/api/feed");
    expect(seen).toEqual([["https://feed.example/api/feed", undefined]]);
  });

  test("a report without an address, which delivers nothing", async () => {
    const { guard, errors } = await openInProduction();
    const stop = guard.report(untyped({ url: 7 }));
    guard.record("a");
    expect(guard.stats()).toMatchObject({ pending: 1, failingSince: undefined });
    stop();
    await guard.close();
    expect(errors).toEqual([]);
  });

  test("a store without methods, so that nothing is stored elsewhere", async () => {
    const { guard, codes } = await openInProduction({ storage: { get: () => undefined } });
    guard.record("a");
    await guard.close();
    expect(codes()).toContain("storage");
  });
});

test("the build for production reports no misuse, and everything passes", async () => {
  const { guard, errors } = await openInProduction();
  const posts = Array.from({ length: 9 }, (_, key) => ({ key }));
  expect(guard.filter(untyped(posts))).toEqual(posts);
  expect(guard.feed().filter(untyped(posts))).toEqual(posts);
  expect(guard.record(untyped([{ key: 1 }]))).toBe(0);
  expect(guard.filter(untyped("no list"))).toEqual([]);
  const noPage = guard.feed().fill(() => Promise.resolve(untyped({ data: [] })), 1);
  await expect(noPage).rejects.toMatchObject({ code: "misuse" });
  guard.observe(untyped(undefined))();
  await guard.close();
  expect(guard.filter(["a"])).toEqual(["a"]);
  expect(errors).toEqual([]);
});
