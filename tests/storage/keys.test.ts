/** Keys and values in the storage: their content, lifetime and size. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nameOf, prefixOf, generationPrefixOf } from "../../js/storage/keys.js";
import { sizeOf } from "../simulation/programs/local-storage.js";
import { containing, idsOf, newBrowser, until, type Browser } from "./support.js";

const DAY_MS = 86_400_000;
/** All keys of the package have a namespace as their second part. */
const OWN_KEY = /^seenguard(?:-signal|-clear)?\//;

/** Opens a namespace, records, and closes it after some time. */
async function visit(browser: Browser, namespace: string, ids: readonly string[] = []): Promise<void> {
  const document = browser.open();
  const guard = await until(browser, document.openGuard({ namespace }));
  await browser.task(() => guard.record(ids));
  await browser.advance(4_000);
  await until(browser, guard.close());
  document.end();
}

const keysOf = ({ rows, local }: Browser): string[] =>
  [...rows.keys(), ...local.keys()].filter((key) => OWN_KEY.test(key));

test("keys contain the namespace, a time and random bits, and no ids", async () => {
  const browser = await newBrowser();
  await visit(browser, "home:ada", idsOf("secret", 20));
  for (const key of keysOf(browser))
    expect(key).toMatch(/^seenguard(-signal)?\/home:ada(\/[0-9a-z]{11}\/r\/\w+\/\w+)?$/);
  expect([...browser.local.values()].join()).not.toContain("secret");
});

test("with a custom store localStorage contains only the signal", async () => {
  const browser = await newBrowser();
  const document = browser.open();
  const custom = new Map<string, string>();
  const storage = {
    keys: () => [...custom.keys()],
    get: (key: string) => custom.get(key),
    set: () => new Promise<void>(() => {}),
    remove: (key: string) => void custom.delete(key),
  };
  const guard = await until(browser, document.openGuard({ storage }));
  await browser.task(() => guard.record("secret"));
  await browser.advance(5_000);
  await browser.task(() => document.leave());
  expect([...browser.local.keys()].filter((key) => !key.startsWith("seenguard-signal/"))).toEqual([]);
});

describe("another namespace", () => {
  test("that was not used for twice its window is removed with its signal, a later one is not", async () => {
    const browser = await newBrowser();
    await visit(browser, "home:idle", ["a"]);
    await browser.advance(30 * DAY_MS);
    await visit(browser, "home:used", ["a"]);
    await browser.advance(31 * DAY_MS);
    await visit(browser, "home:own");
    const left = (name: string) => keysOf(browser).filter((key) => key.includes(`/${name}`));
    expect(left("home:idle")).toEqual([]);
    expect(left("home:used").length).toBeGreaterThan(1);
  });

  test("that was cleared has its name removed no later than one that was not", async () => {
    const browser = await newBrowser();
    await visit(browser, "home:left", ["a"]);
    const document = browser.open();
    await until(browser, document.seenguard.SeenGuard.clear("home:left"));
    document.end();
    expect(containing(browser.rows, "a")).toEqual([]);
    await browser.advance(61 * DAY_MS);
    await visit(browser, "home:own");
    expect(keysOf(browser).filter((key) => key.includes("/home:left"))).toEqual([]);
  });
});

describe("the stashes of a namespace", () => {
  const withoutDatabase = () => newBrowser({ indexedDb: "denied" });
  const stashes = (browser: Browser) => new Map([...browser.local].filter(([key]) => key.includes("/s/")));

  test("i7: have at most 200,000 characters together, and contain the newest impressions", async () => {
    const browser = await withoutDatabase();
    const long = (prefix: string) => idsOf(`${prefix}-${"x".repeat(100)}`, 1_500);
    const documents = [browser.open(), browser.open()];
    for (const [index, document] of documents.entries()) {
      const guard = await until(browser, document.openGuard({}));
      await browser.task(() => guard.record(long(String(index))));
      await browser.advance(2_000);
    }
    await browser.task(() => documents.forEach((document) => document.leave()));
    const size = [...stashes(browser).values()].reduce((sum, text) => sum + text.length, 0);
    expect(size).toBeLessThanOrEqual(200_000);
    expect(sizeOf(stashes(browser))).toBeGreaterThan(100_000);
    const next = await until(browser, browser.open().openGuard({}));
    expect(next.filter([long("1").at(-1) ?? ""])).toEqual([]);
  });

  test("stay until IndexedDB has everything", async () => {
    const browser = await newBrowser();
    const guard = await until(browser, browser.open().openGuard({}));
    browser.outcomes = [{ way: "fails" }];
    await browser.task(() => guard.record("a"));
    await browser.advance(1_500);
    browser.outcomes = [{ way: "is late", ms: 500 }];
    for (let tenths = 0; tenths < 200 && containing(browser.rows, "a").length === 0; tenths++) {
      expect(stashes(browser).size).toBe(1);
      await browser.advance(100);
    }
    expect(containing(browser.rows, "a")).toHaveLength(1);
  });

  test("are removed once IndexedDB has everything", async () => {
    const browser = await newBrowser();
    const [one, two] = [browser.open(), browser.open()];
    const guard = await until(browser, one.openGuard({}));
    browser.outcomes = [{ way: "is silent", isDone: false }];
    await browser.task(() => guard.record("a"));
    await browser.advance(1_500);
    expect(stashes(browser).size).toBe(1);
    await browser.task(() => one.end());
    browser.outcomes = [];
    const next = await until(browser, two.openGuard({}));
    await browser.advance(3_000);
    expect(stashes(browser).size).toBe(0);
    expect(containing(browser.rows, "a")).toHaveLength(1);
    expect(next.filter(["a", "b"])).toEqual(["b"]);
  });
});

test("i6: without localStorage an open tab loads another tab's rows and clears within ten seconds", async () => {
  const browser = await newBrowser({ local: "denied" });
  const [one, two] = [browser.open(), browser.open()];
  const [first, second] = [await until(browser, one.openGuard({})), await until(browser, two.openGuard({}))];
  await browser.task(() => first.record("a"));
  await browser.advance(10_500);
  expect(second.filter(["a", "b"])).toEqual(["b"]);
  await until(browser, one.seenguard.SeenGuard.clear("home"));
  await browser.advance(10_500);
  expect(second.filter(["a", "b"])).toEqual(["a", "b"]);
});

test("a closed guard leaves no timer, and the connection open for the next one", async () => {
  const browser = await newBrowser();
  const document = browser.open();
  for (const id of ["a", "b"]) {
    const guard = await until(browser, document.openGuard({}));
    await browser.task(() => guard.record(id));
    await until(browser, guard.close());
    expect(browser.timersOf(document)).toBe(0);
  }
  expect(document.openedTimes).toBe(1);
});

test("i6: a page that is shown again saves within two seconds, even if another attempt fails meanwhile", async () => {
  const browser = await newBrowser();
  const document = browser.open();
  const guard = await until(browser, document.openGuard({}));
  browser.outcomes = [{ way: "fails" }];
  await browser.task(() => guard.record("a"));
  await browser.advance(40_000);
  await browser.task(() => document.setHidden(true));
  await browser.advance(10);
  await browser.task(() => document.setHidden(false));
  await browser.task(() => void guard.flush());
  await browser.advance(100);
  browser.outcomes = [];
  await browser.advance(2_000);
  expect(containing(browser.rows, "a")).toHaveLength(1);
});

const namespaces = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
const generations = fc.oneof(fc.nat(1_000), fc.maxSafeNat());

test("different namespaces have different keys, and none of them is a prefix of another", () => {
  const property = fc.property(namespaces, namespaces, (one, other) => {
    const [first, second] = [prefixOf(nameOf(one)), prefixOf(nameOf(other))];
    expect(first).toMatch(/^seenguard\/[\w.:@%-]+\/$/);
    expect(first.startsWith(second)).toBe(one === other);
  });
  fc.assert(property, { numRuns: 5_000 });
});

test("keys of a lower generation are one range below those of a higher one", () => {
  const property = fc.property(namespaces, generations, generations, (namespace, one, other) => {
    const [lower, higher] = [Math.min(one, other), Math.max(one, other)];
    const below = generationPrefixOf(nameOf(namespace), higher);
    if (one !== other)
      expect(`${generationPrefixOf(nameOf(namespace), lower)}r/zzzzzzzzzzzzzz/zzzzzzzzz` < below).toBe(true);
    expect(below > prefixOf(nameOf(namespace))).toBe(true);
  });
  fc.assert(property, { numRuns: 5_000 });
});
