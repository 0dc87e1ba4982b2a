/** The engine of a guard: Wasm, or JavaScript where the platform has no Wasm. */
import * as index from "seenguard";
import type { EngineModule } from "seenguard";
import * as formats from "seenguard/formats";
import * as slim from "seenguard/slim";
import { describe, expect, test, vi } from "vitest";
import * as textEncoding from "../../js/platform/text-encoding-polyfill.js";
import { bareRealm, importInto } from "../support/realm.js";
import {
  ON_JS,
  openGuard,
  openPage,
  readScript,
  shippedSnapshot,
  uniqueNamespace,
  type Package,
} from "../support/node.js";

const WITHOUT_WASM = "globalThis.before = WebAssembly; delete globalThis.WebAssembly";

type Page = ReturnType<typeof openPage>;

/** Adds the JavaScript engine to a page, as a second script tag does. */
function addEngine(page: Page): void {
  page.run(readScript("seenguard-engine-js.iife.js"));
}

async function expectGuarding(open: ReturnType<typeof openGuard>, engine: "wasm" | "js"): Promise<void> {
  const { guard, codes } = await open;
  expect(guard.stats().engine).toBe(engine);
  expect(guard.apply(await shippedSnapshot(["on the server"])).applied).toBe(true);
  guard.record("here");
  expect([...guard.filter(["on the server", "here", "new", "new"])]).toEqual(["new"]);
  expect(codes()).toEqual([]);
}

test("where there is WebAssembly a guard runs it", () => expectGuarding(openGuard(), "wasm"));

test("guards of a document may have different engines", async () => {
  await expectGuarding(openGuard(ON_JS), "js");
  await expectGuarding(openGuard(), "wasm");
  await expectGuarding(openGuard(ON_JS, formats), "js");
  await expectGuarding(openGuard(ON_JS), "js");
});

test("only seenguard/slim has the option wasm, and needs it", async () => {
  const wasm = new Uint8Array();
  for (const entry of [index, formats]) {
    await expect(openGuard({ wasm } as object, entry)).rejects.toMatchObject({ code: "bad-option" });
  }
  await expect(openGuard({}, slim)).rejects.toMatchObject({ code: "bad-option" });
  await expectGuarding(openGuard(ON_JS, slim), "js");
});

describe("where there is no WebAssembly", () => {
  test("a guard runs the JavaScript engine, and nothing is reported", async () => {
    const page = openPage(WITHOUT_WASM);
    addEngine(page);
    await expectGuarding(openGuard({}, page.seenguard), "js");
  });

  test("i5: nor the JavaScript engine, everything passes, which is reported once with both reasons", async () => {
    const { seenguard } = openPage(WITHOUT_WASM);
    const { guard, codes, errors } = await openGuard({}, seenguard);
    expect(guard.stats()).toMatchObject({ engine: "none", pending: 0 });
    expect(guard.record("a")).toBe(0);
    expect(guard.filter(["a", "b", "a"])).toEqual(["a", "b"]);
    expect(guard.apply({ shards: ["!"] })).toMatchObject({ applied: false, reason: "no-engine" });
    expect(guard.feed().filter(["a", "a"])).toEqual(["a"]);
    expect(codes()).toEqual(["engine"]);
    expect(errors[0]?.message).toMatch(/WebAssembly is not defined.*seenguard-engine-js\.iife\.js is not loaded/);
    expect(errors[0]?.cause).toHaveLength(2);
  });

  test.each<[string, "js" | "wasm", (page: Page) => unknown]>([
    ["the JavaScript engine", "js", addEngine],
    ["WebAssembly", "wasm", (page) => page.run("globalThis.WebAssembly = before")],
  ])("the next to open tries again: once %s has come", async (_, engine, bring) => {
    const page = openPage(WITHOUT_WASM);
    const options = { namespace: uniqueNamespace() };
    expect((await openGuard(options, page.seenguard)).codes()).toEqual(["engine"]);
    bring(page);
    await expectGuarding(openGuard(options, page.seenguard), engine);
  });
});

describe("the option fallback", () => {
  test.each([
    ["index", 'import("seenguard/engine-js")'],
    ["formats", 'import("seenguard/formats/engine-js")'],
    ["slim", 'import("seenguard/engine-js")'],
  ])("of %s loads the engine as JavaScript, and the error contains that line", async (entry, line) => {
    const { realm } = bareRealm();
    Object.assign(realm, { queueMicrotask, setTimeout, clearTimeout, performance });
    const { errors } = await openGuard({}, importInto(realm, entry) as Package);
    expect(errors[0]?.message).toContain(`pass fallback: () => ${line}`);
  });

  test("is not called where there is Wasm", async () => {
    const fallback = vi.fn(() => import("seenguard/engine-js"));
    await expectGuarding(openGuard({ fallback }), "wasm");
    expect(fallback).not.toHaveBeenCalled();
  });

  test("may load the engine from any source", async () => {
    const page = openPage(WITHOUT_WASM);
    await expectGuarding(openGuard({ fallback: () => import("seenguard/formats/engine-js") }, page.seenguard), "js");
  });

  test("may fail, or resolve to something else: everything passes, and the error contains the cause", async () => {
    const page = openPage(WITHOUT_WASM);
    for (const [fallback, message] of [
      [
        () => Promise.reject(new Error("it is gone")),
        /neither WebAssembly .* nor the JavaScript engine \(.*it is gone\)/,
      ],
      [() => Promise.resolve(formats as object as EngineModule), /pass a second script tag/],
    ] as const) {
      const { guard, errors } = await openGuard({ fallback }, page.seenguard);
      expect(errors).toMatchObject([{ code: "engine", message: expect.stringMatching(message) as string }]);
      expect(guard.filter(["a", "a"])).toEqual(["a"]);
    }
  });

  test("must be a function", async () => {
    await expect(openGuard({ fallback: "seenguard/engine-js" as never })).rejects.toMatchObject({
      code: "bad-option",
      message: expect.stringContaining('() => import("seenguard/engine-js")') as string,
    });
  });
});

test("React Native's builds have no Wasm, and the JavaScript engine by themselves", async () => {
  const index = (await import(new URL("../../dist/react-native.js", import.meta.url).href)) as Package;
  const formats = (await import(new URL("../../dist/formats-react-native.js", import.meta.url).href)) as Package;
  await expectGuarding(openGuard({}, index), "js");
  await expectGuarding(openGuard({}, formats), "js");
});

test("a Wasm file that cannot be fetched is reported, and the JavaScript engine does not replace it", async () => {
  const fallback = vi.fn(() => import("seenguard/engine-js"));
  const { guard, codes } = await openGuard({ wasm: new Uint8Array([0]), fallback } as object, slim);
  expect(codes()).toEqual(["engine"]);
  expect(fallback).not.toHaveBeenCalled();
  expect(guard.stats().engine).toBe("none");
});

test("a JavaScript engine that traps lets everything pass, is reported and replaced once, and does not affect others", async () => {
  const page = openPage();
  addEngine(page);
  const key = "globalThis[Symbol.for('seenguard.engine-js')]";
  page.run(`{
    const { createEngine } = ${key};
    ${key} = { createEngine() {
      const engine = createEngine();
      engine.Guard.prototype.explain = () => { throw new Error("abort") };
      return engine;
    } };
  }`);
  const { guard, codes } = await openGuard(ON_JS, page.seenguard);
  const other = await openGuard({}, page.seenguard);
  guard.record("a");
  other.guard.record("a");
  expect(guard.explain("a")).toEqual({ seen: false });
  expect(guard.filter(["a", "b"])).toEqual(["a", "b"]);
  expect(codes()).toEqual(["engine"]);
  // A new one replaces it, once in a document.
  const next = await openGuard(ON_JS, page.seenguard);
  next.guard.record("a");
  expect(next.guard.filter(["a", "b"])).toEqual(["b"]);
  expect(next.codes()).toEqual([]);
  next.guard.explain("a");
  expect(next.codes()).toEqual(["engine"]);
  expect((await openGuard(ON_JS, page.seenguard)).codes()).toEqual(["engine"]);
  expect(other.guard.filter(["a", "b"])).toEqual(["b"]);
  expect(other.codes()).toEqual([]);
});

describe("without TextEncoder, TextDecoder and performance", () => {
  const WITHOUT = "for (const name of ['TextEncoder', 'TextDecoder', 'performance']) delete globalThis[name]";
  /** The implementation of `seenguard/testing` and the entries for React Native. */
  const brought = { [Symbol.for("seenguard.text-encoding")]: textEncoding };
  const ids = ["a", "ü", "€", "😀", "滤", "\u0000", "\u07ff\u0800\uffff\u{10000}"];

  test.each(["wasm", "js"] as const)("the engine %s has the same results, for every string", async (engine) => {
    const page = openPage(WITHOUT, brought);
    addEngine(page);
    const [bare, full] = [await openGuard(engine === "js" ? ON_JS : {}, page.seenguard), await openGuard()];
    for (const { guard } of [bare, full]) guard.record(ids.filter((_, index) => index % 2 === 0));
    expect([...bare.guard.filter([...ids, "\ufffd"])]).toEqual(full.guard.filter([...ids, "\ufffd"]));
    expect([...bare.guard.pending()]).toEqual(full.guard.pending());
    const long = "ü€😀x".repeat(200);
    bare.guard.record(long);
    expect(bare.guard.pending().at(-1)).toBe(long);
    expect(bare.codes()).toEqual([]);
  });

  test.each(["wasm", "js"] as const)(
    "and none provided, the engine %s lets everything pass, and the error names the cause",
    async (engine) => {
      const page = openPage(WITHOUT);
      addEngine(page);
      const { guard, codes, errors } = await openGuard(engine === "js" ? ON_JS : {}, page.seenguard);
      guard.record("a");
      expect([...guard.filter(["a", "b", "a"])]).toEqual(["a", "b"]);
      guard.report({ url: "/" });
      await guard.flush();
      expect(codes()).toEqual(["engine"]);
      expect(errors[0]?.message).toMatch(/TextEncoder is not defined: an app's tests import seenguard\/testing/);
      expect(guard.stats().engine).toBe("none");
    },
  );

  test("impressions are delivered", async () => {
    const page = openPage(`${WITHOUT}; ${WITHOUT_WASM}`, brought);
    addEngine(page);
    const { guard, codes } = await openGuard({}, page.seenguard);
    const sent: string[] = [];
    guard.report({
      url: "/",
      intervalMs: 20,
      send: ({ impressions }) => {
        for (const { id } of impressions) sent.push(id);
        return Promise.resolve();
      },
    });
    guard.record(ids.slice(0, 5));
    await expect.poll(() => sent).toEqual(ids.slice(0, 5));
    expect(codes()).toEqual([]);
  });
});
