/**
 * The keys of a namespace as TypeScript has them, which clears without an engine, and as the engine writes and reads
 * them: one rule in two languages.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { highestOf, nameOf, prefixOf, under } from "../../js/storage/keys.js";
import { MapStorage, openGuard } from "../support/node.js";

const namespaces = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
/** A clear takes one above: a highest one of all can have none. */
const numbers = fc.oneof(fc.maxSafeNat(), fc.nat(1_000), fc.constant(Number.MAX_SAFE_INTEGER));
/** What may stand where a key has its number. */
const texts = fc.oneof(
  fc.stringMatching(/^[0-9a-z]{11}$/),
  fc.stringMatching(/^0{0,4}[0-9a-zA-Z]{0,12}$/),
  fc.stringMatching(/^[0-9a-z.%/-]{0,12}$/),
);

/** The keys that a visit writes into a storage in which there is this one. */
async function keysBeside(key: string, namespace: string): Promise<string[]> {
  const storage = new MapStorage();
  storage.values.set(key, "");
  const { guard } = await openGuard({ namespace, storage });
  guard.record("a");
  await guard.close();
  return storage.keys().filter((other) => other !== key);
}

test("the prefix of a number's keys is the engine's", async () => {
  const property = fc.asyncProperty(namespaces, numbers, async (namespace, number) => {
    const start = under(nameOf(namespace), number);
    const written = await keysBeside(`${start}q/of-a-later-version`, namespace);
    expect(written.map((key) => key.slice(start.length).split("/")[0] ?? "").toSorted()).toEqual(["m", "r"]);
    expect(written.filter((key) => !key.startsWith(start))).toEqual([]);
    expect(highestOf(written, nameOf(namespace))).toBe(number);
  });
  await fc.assert(property, { numRuns: 300 });
});

test("the number in a key is the one that the engine reads, or none", async () => {
  const property = fc.asyncProperty(texts, async (text) => {
    const key = `${prefixOf(nameOf("home"))}${text}/q`;
    const written = await keysBeside(key, "home");
    expect(highestOf(written, nameOf("home"))).toBe(highestOf([key], nameOf("home")));
  });
  await fc.assert(property, { numRuns: 300 });
});

test("keys under a lower number come before those under a higher one, in one range", () => {
  const property = fc.property(namespaces, numbers, numbers, (namespace, one, other) => {
    const [lower, higher] = [Math.min(one, other), Math.max(one, other)].map((each) => under(nameOf(namespace), each));
    if (one !== other) expect(`${lower ?? ""}r/zzzzzzzzzzzzz/zzzzzzzzz` < (higher ?? "")).toBe(true);
    expect((lower ?? "") >= prefixOf(nameOf(namespace))).toBe(true);
  });
  fc.assert(property, { numRuns: 10_000 });
});

test("different namespaces have different keys, and none of them is a prefix of another", () => {
  const property = fc.property(namespaces, namespaces, (one, other) => {
    const [first, second] = [prefixOf(nameOf(one)), prefixOf(nameOf(other))];
    expect(first).toMatch(/^seenguard\/[\w.:@%-]+\/$/);
    expect(first.startsWith(second)).toBe(one === other);
  });
  fc.assert(property, { numRuns: 10_000 });
});
