/** Importing an entry has no side effects and needs no globals: each is imported in a realm that has only the language. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { bareRealm, importInto, MAY_BE_MISSING } from "../support/realm.js";

type Server = typeof import("seenguard/server");

const ENTRIES = ["index", "formats", "slim", "server", "near-duplicates"] as const;
/** wasm-bindgen's glue is evaluated with the entry, and reads it. */
const NEEDED_BY_GLUE = "FinalizationRegistry";

describe.each(ENTRIES)("the entry %s", (entry) => {
  test("i5: is imported in a realm that has only the language, and adds no global", () => {
    const { realm, run } = bareRealm();
    const globals = () => run("Reflect.ownKeys(globalThis).map(String).join()");
    const before = globals();
    expect(Object.keys(importInto(realm, entry))).toContain("SeenGuardError");
    expect(globals()).toBe(before);
  });

  test("i5: is imported where reading any global of the platform throws", () => {
    const { realm, run } = bareRealm();
    const touched = [...MAY_BE_MISSING, "TextEncoder", "TextDecoder", "indexedDB", "localStorage", "performance"];
    for (const name of touched.filter((name) => name !== NEEDED_BY_GLUE))
      run(`Object.defineProperty(globalThis, "${name}", { get() { throw new Error("${name} is not for you"); } })`);
    expect(() => importInto(realm, entry)).not.toThrow();
  });

  test("is imported where Object.prototype is polluted", () => {
    for (const value of ["5", "() => 5", "null"]) {
      const { realm, run } = bareRealm();
      run(`Object.prototype.polluted = ${value}`);
      expect(Object.keys(importInto(realm, entry))).toContain("SeenGuardError");
    }
  });
});

test("the entry devtools is imported in a realm that has only the language, and defines nothing", () => {
  const { realm, run } = bareRealm();
  const globals = () => run("Reflect.ownKeys(globalThis).map(String).join()");
  const before = globals();
  expect(Object.keys(importInto(realm, "devtools"))).toEqual(["SeenGuardPanel"]);
  expect(globals()).toBe(before);
});

test("the script-tag file runs in a realm that has only the language, and adds one global", () => {
  const { run } = bareRealm();
  run(readFileSync(new URL("../../dist/seenguard.iife.js", import.meta.url), "utf8"));
  expect(run("Object.keys(globalThis).join()")).toBe("Seenguard");
});

describe("in a realm that has only the language", () => {
  test("a chain that cannot start rejects with its own error", async () => {
    const { realm } = bareRealm();
    const { ShardChain, SeenGuardError } = importInto(realm, "server") as Server;
    const error = await ShardChain.create().then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(SeenGuardError);
    expect(error).toMatchObject({ code: "engine", name: "SeenGuardError" });
    expect(String(error)).not.toContain("everything passes");
    // Options are checked nonetheless.
    await expect(ShardChain.create({ capacity: 0 })).rejects.toMatchObject({ code: "bad-option" });
  });
});
