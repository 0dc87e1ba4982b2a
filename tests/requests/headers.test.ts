/** `headers` of a request. */
import { describe, expect, test } from "vitest";
import { pendingListOf } from "../support/shards.js";
import { heldBy, idsOf, MapStorage, openGuard, shippedSnapshot } from "../support/node.js";

const PENDING = /^[0-9a-z]{0,12}\.[0-9a-z]+\.[0-9a-z]+\.(?:[A-Za-z0-9_-]{4})*$/;

describe("headers", () => {
  test("name the held shards and the pending impressions", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(["a"]));
    guard.record("b");
    const { "Seen-Held": held, "Seen-Pending": pending = "" } = guard.headers();
    expect(held).toBe(heldBy(guard));
    expect(pending).toMatch(PENDING);
    expect(pending.split(".").slice(2)).toEqual(["0", pendingListOf(["b"])]);
  });

  test("are absent while they would be empty: a request needs no preflight then", async () => {
    const { guard } = await openGuard();
    expect(guard.headers()).toEqual({});
    guard.record("a");
    expect(Object.keys(guard.headers())).toEqual(["Seen-Pending"]);
    guard.apply(await shippedSnapshot(["a"]));
    expect(Object.keys(guard.headers())).toEqual(["Seen-Held"]);
    await guard.close();
    expect(guard.headers()).toEqual({});
  });

  test("contain the name of a device that has a stored one, though nothing is pending: the empty list replaces the server's", async () => {
    const { guard } = await openGuard({ storage: new MapStorage() });
    guard.record("a");
    await guard.flush();
    guard.apply(await shippedSnapshot(["a"]));
    expect(guard.headers()["Seen-Pending"]).toMatch(/^[0-9a-z]{12}\..*\.$/);
  });

  test("list the newest pending ids first, and no covered ones", async () => {
    const { guard } = await openGuard();
    const listed = () => guard.headers()["Seen-Pending"]?.split(".")[3];
    guard.record(idsOf("a", 990));
    expect(listed()).toBe(pendingListOf(idsOf("a", 990).reverse().slice(0, 990)));
    guard.apply(await shippedSnapshot(idsOf("a", 990)));
    guard.record(["b", "c"]);
    expect(listed()).toBe(pendingListOf(["c", "b"]));
    guard.unsee("c");
    expect(listed()).toBe(pendingListOf(["b"]));
  });

  test("are at most 4 KB, however many ids are pending and shards held", async () => {
    const { guard } = await openGuard();
    const shards = await Promise.all(idsOf("s", 64).map(async (id) => (await shippedSnapshot([id])).shards[0] ?? ""));
    guard.apply({ shards });
    guard.record(idsOf("a", 5_000));
    const headers = Object.entries(guard.headers());
    const bytes = headers.reduce((sum, [name, value]) => sum + `${name}: ${value}\r\n`.length, 0);
    expect(headers).toHaveLength(2);
    expect(bytes).toBeGreaterThan(3_900);
    expect(bytes).toBeLessThanOrEqual(4_096);
    expect(() => new Headers(guard.headers())).not.toThrow();
  });
});
