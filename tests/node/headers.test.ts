/** What a request carries: `headers`, and the `fetch` that adds it to other clients' requests. */
import type { GuardedFetchOptions } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { pendingListOf } from "./devices.js";
import { heldBy, idsOf, openGuard, shippedSnapshot } from "./support.js";

const PENDING = /^[0-9a-z]{0,12}\.[0-9a-z]+\.[0-9a-z]+\.(?:[A-Za-z0-9_-]{4})*$/;
const PAGE = "https://feed.example/api/page?cursor=2";

describe("headers", () => {
  test("tell what is held and what is pending, the latter always", async () => {
    const { guard } = await openGuard();
    expect(Object.keys(guard.headers())).toEqual(["Seen-Pending"]);
    const empty = guard.headers()["Seen-Pending"];
    expect(empty).toMatch(/\.$/);
    guard.apply(await shippedSnapshot(["a"]));
    guard.record("b");
    const { "Seen-Held": held, "Seen-Pending": pending = "" } = guard.headers();
    expect(held).toBe(heldBy(guard));
    expect(pending).toMatch(PENDING);
    expect(pending.split(".").slice(2)).toEqual(["0", pendingListOf(["b"])]);
    await guard.close();
    expect(guard.headers()).toEqual({ "Seen-Pending": "" });
  });

  test("list the newest that are pending first, and nothing that a snapshot covers", async () => {
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

  test("are at most 4 KB, however much is pending and held", async () => {
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

/** A guard, its `fetch`, and the requests that have gone out by it. */
async function openFetch(options: Omit<GuardedFetchOptions, "fetch">, answer: () => Response) {
  const opened = await openGuard();
  const sent: Request[] = [];
  const fetch = (input: RequestInfo | URL, init?: RequestInit) => {
    sent.push(new Request(input, init));
    return Promise.resolve(answer());
  };
  return { ...opened, sent, fetch: opened.guard.fetch({ ...options, fetch }) };
}

const page = (snapshot: unknown) => Response.json({ items: [{ id: "a" }, { id: "b" }], snapshot });

describe("fetch", () => {
  test.each([
    ["a text", "/api/page"],
    ["a global expression", /page\?/g],
    ["a function", (request: Request) => request.method === "GET" && request.headers.get("x-feed") === "home"],
  ])("adds the headers to requests that match %s, and takes the snapshot of their answers", async (_, match) => {
    const snapshot = await shippedSnapshot(["a"]);
    const { guard, sent, fetch } = await openFetch({ match }, () => page(snapshot));
    for (const _ of [1, 2]) {
      const response = await fetch(PAGE, { headers: { "x-feed": "home" } });
      expect(guard.explain("a").seen).toBe(true);
      expect(await response.json()).toEqual({ items: [{ id: "a" }, { id: "b" }], snapshot });
    }
    expect(sent[0]?.headers.get("seen-held")).toBe(null);
    expect(sent[1]?.headers.get("seen-held")).toBe(heldBy(guard));
    for (const { headers } of sent) {
      expect(headers.get("seen-pending")).toMatch(PENDING);
      expect(headers.get("x-feed")).toBe("home");
    }
  });

  test("leaves every other request and its answer as they are", async () => {
    const snapshot = await shippedSnapshot(["a"]);
    const { guard, sent, fetch } = await openFetch({ match: "/api/page" }, () => page(snapshot));
    await fetch("https://feed.example/api/other", { method: "POST", body: "text" });
    expect(await sent[0]?.text()).toBe("text");
    expect(sent[0]?.headers.get("seen-pending")).toBe(null);
    expect(guard.explain("a").seen).toBe(false);
  });

  test("takes a Request with a body, which goes out once", async () => {
    const { sent, fetch } = await openFetch({ match: "/api/page" }, () => page(undefined));
    await fetch(new Request(PAGE, { method: "POST", body: "which page", headers: { "x-feed": "home" } }));
    expect(await sent[0]?.text()).toBe("which page");
    expect(sent[0]?.headers.get("x-feed")).toBe("home");
    expect(sent[0]?.headers.get("seen-pending")).toMatch(PENDING);
  });

  test.each([
    ["no JSON", () => new Response("<p>", { headers: { "content-type": "text/html" } })],
    [
      "a stream of JSON",
      () => new Response('{"snapshot":1}\n', { headers: { "content-type": "application/x-ndjson" } }),
    ],
    ["broken JSON", () => new Response("{", { headers: { "content-type": "application/json" } })],
    ["a list", () => Response.json([1])],
    ["a snapshot that is none", () => page(7)],
    ["a snapshot of something else", () => page({ version: 1, shards: "none", unseen: 7 })],
    ["an empty answer", () => new Response(null, { status: 204 })],
  ])("hands on %s unchanged, and tells no error", async (_, answer) => {
    const { fetch, errors } = await openFetch({ match: "/api/page" }, answer);
    expect(await (await fetch(PAGE)).text()).toBe(await answer().text());
    expect(errors).toEqual([]);
  });

  test("tells of a snapshot that is damaged, and hands the answer on", async () => {
    const { fetch, errors } = await openFetch({ match: "/api/page" }, () => page({ shards: ["?"] }));
    expect(await (await fetch(PAGE)).json()).toHaveProperty("snapshot");
    expect(errors.map(({ code }) => code)).toEqual(["bad-snapshot"]);
  });

  test("rejects as the fetch that it calls, and otherwise never", async () => {
    const { guard } = await openGuard();
    const down = () => Promise.reject(new TypeError("down"));
    await expect(guard.fetch({ match: "/", fetch: down })(PAGE)).rejects.toThrow("down");
    const throwing = vi.fn(() => {
      throw new Error("of the app");
    });
    const uncaught = vi.fn();
    process.once("uncaughtException", uncaught);
    const fetch = guard.fetch({ match: throwing, fetch: () => Promise.resolve(new Response("as it is")) });
    expect(await (await fetch(PAGE)).text()).toBe("as it is");
    expect(throwing).toHaveBeenCalled();
  });

  test("calls the global fetch of the time of the request", async () => {
    const { guard } = await openGuard();
    const fetch = guard.fetch({ match: "/" });
    vi.stubGlobal("fetch", () => Promise.resolve(new Response("the app's own")));
    expect(await (await fetch(PAGE)).text()).toBe("the app's own");
    vi.unstubAllGlobals();
  });

  test("needs to know which requests are meant", async () => {
    const { guard } = await openGuard();
    for (const options of [{}, { match: "" }, { match: 7 }, { match: "/", fetch: "no" }])
      expect(() => guard.fetch(options as GuardedFetchOptions)).toThrow(
        expect.objectContaining({ code: "bad-option" }),
      );
  });
});
