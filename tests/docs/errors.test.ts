/** docs/errors.md: every code has its section, and each example in it is a message of the package. */
import { memoryStore, parseReport } from "seenguard/server";
import { SeenGuard as SlimGuard } from "seenguard/slim";
import { SeenGuard, type ErrorCode, type SeenGuardError, type Snapshot } from "seenguard";
import { expect, test } from "vitest";
import { readPage } from "./examples.ts";
import { idsOf, MapStorage, openGuard } from "../support/node.js";

async function ofSnapshot(snapshot: unknown): Promise<SeenGuardError | undefined> {
  const { guard, errors } = await openGuard();
  guard.apply(snapshot as Snapshot);
  return errors[0];
}

async function ofFailingStorage(cause: Error): Promise<SeenGuardError | undefined> {
  const storage = new MapStorage();
  const { guard, errors } = await openGuard({ storage });
  storage.before = (operation) => {
    if (operation === "set") throw cause;
  };
  guard.record("a");
  await guard.flush();
  return errors[0];
}

async function thrown(run: () => unknown): Promise<SeenGuardError | undefined> {
  try {
    await run();
  } catch (error) {
    return error as SeenGuardError;
  }
  return undefined;
}

/** Provokes the error of each section. */
const provoke: Record<ErrorCode, () => Promise<SeenGuardError | undefined>> = {
  "bad-option": () => thrown(() => SeenGuard.open({ namespace: "home:ada", storage: "none", windowDays: 0 })),
  misuse: async () => {
    const { guard, errors } = await openGuard();
    await thrown(() => guard.feed().fill(() => Promise.resolve(new Response("{}") as never), 1));
    return errors[0];
  },
  "already-open": async () => {
    const namespace = "home:ada";
    await openGuard({ namespace });
    return (await openGuard({ namespace, windowDays: 7 })).errors[0];
  },
  "bad-snapshot": () => ofSnapshot({ shards: [], now: Date.parse("2026-01-01") }),
  "too-large": async () => {
    const { guard, errors } = await openGuard();
    guard.filter(idsOf("item", 20_001));
    return errors[0];
  },
  "bad-report": () => thrown(() => parseReport({})),
  "wrong-namespace": () => {
    const store = memoryStore({ namespaceOf: (user) => `home:${user}` });
    return thrown(() => store.accept("ada", { namespace: "home:bob", now: 0, impressions: [] }));
  },
  storage: () => ofFailingStorage(new Error("the disk is gone")),
  delivery: async () => {
    const { guard, errors } = await openGuard();
    guard.record("a");
    guard.report({ url: "/api/feed/seen", fetch: () => Promise.reject(new Error("Failed to fetch")) });
    await guard.deliver();
    return errors[0];
  },
  engine: async () => {
    const wasm = Object.defineProperty(new Response(null, { status: 404 }), "url", { value: "/seenguard.wasm" });
    return (await openGuard({ wasm } as object, { SeenGuard: SlimGuard })).errors[0];
  },
};

/** The page's sections: their headings, and the examples below them. */
const sections = [...readPage("docs/errors.md").text.matchAll(/^## `(.*)`\n\n```text\n(.*)\n```$/gm)].map(
  ([, code = "", example = ""]) => ({ code, example }),
);

test("the page has a section for each code, and no other", () => {
  const codes = Object.keys(provoke).toSorted();
  expect(sections.map(({ code }) => code).toSorted()).toEqual(codes);
});

test.each(sections)("i5: its example of $code is the package's message", async ({ code, example }) => {
  const error = await provoke[code as ErrorCode]();
  expect(error).toMatchObject({ name: "SeenGuardError", code });
  const [, message, address] = /^(.*) \((https:.*)\)$/.exec(error?.message ?? "") ?? [];
  expect([message, new URL(address ?? "").hash]).toEqual([example, `#${code}`]);
});
