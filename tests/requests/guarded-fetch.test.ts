/** `guard.fetch`: it adds the two headers, applies the snapshots, and changes nothing else in an app's requests. */
import type { GuardedFetchOptions, MatchedRequest, SeenGuard } from "seenguard";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { heldBy, openGuard, shippedSnapshot, type OpenedGuard } from "../support/node.js";

const PENDING = /^[0-9a-z]{0,12}\.[0-9a-z]+\.[0-9a-z]+\.(?:[A-Za-z0-9_-]{4})*$/;
const PAGE = "https://feed.example/api/page?cursor=2";
const MATCH = "/api/page";

type Fetch = typeof globalThis.fetch;
type Init = RequestInit & Record<string, unknown>;
interface Call {
  readonly input: Parameters<Fetch>[0];
  readonly init: Init | undefined;
}

/** A guard with a pending impression, its `fetch`, and the calls of the network's `fetch`, which responds by `answer`. */
async function openFetch(
  answer: (call: Call, request: Request) => Response | Promise<Response> = () => page(undefined),
  options: Omit<GuardedFetchOptions, "fetch"> = { match: MATCH },
): Promise<OpenedGuard & { readonly fetch: Fetch; readonly calls: Call[]; readonly sent: Request[] }> {
  const opened = await openGuard();
  opened.guard.record("shown");
  const calls: Call[] = [];
  const sent: Request[] = [];
  const network: Fetch = async (input, init) => {
    const call = { input, init: init as Init | undefined };
    const request = new Request(input, init);
    calls.push(call);
    sent.push(request);
    return answer(call, request);
  };
  return { ...opened, calls, sent, fetch: opened.guard.fetch({ ...options, fetch: network }) };
}

const page = (snapshot: unknown) => Response.json({ items: [{ id: "a" }, { id: "b" }], snapshot });

const isSeen = (guard: SeenGuard) => guard.explain("a").seen;

/** Whether each request had the headers. */
const withHeaders = (sent: readonly Request[]) => sent.map(({ headers }) => headers.has("seen-pending"));

/** The reason of a rejection. */
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );

describe("the requests", () => {
  test.each<[string, GuardedFetchOptions["match"]]>([
    ["a path", MATCH],
    ["a global expression", /page\?/g],
    ["a function", ({ url, method, init }) => url === PAGE && method === "GET" && "keepalive" in (init ?? {})],
  ])("that match %s have the headers", async (_, match) => {
    const snapshot = await shippedSnapshot(["a"]);
    const { guard, sent, fetch } = await openFetch(() => page(snapshot), { match });
    for (const _ of [1, 2]) await (await fetch(PAGE, { keepalive: false })).json();
    expect(sent.map(({ headers }) => headers.get("seen-held"))).toEqual([null, heldBy(guard)]);
    for (const { headers } of sent) expect(headers.get("seen-pending")).toMatch(PENDING);
  });

  test("that the function does not match have none, and the function is called before they are sent", async () => {
    const matched: MatchedRequest[] = [];
    const match = (request: MatchedRequest) => matched.push(request) < 0;
    const { calls, fetch } = await openFetch(undefined, { match });
    const init = { method: "post", body: "text" };
    await fetch(PAGE, init);
    await fetch(new URL(PAGE));
    await fetch(new Request(PAGE, { method: "PUT", body: "text" }));
    expect(matched).toEqual([
      { url: PAGE, method: "POST", init },
      { url: PAGE, method: "GET", init: undefined },
      { url: PAGE, method: "PUT", init: undefined },
    ]);
    expect(calls[0]?.init).toBe(init);
  });

  test("are unchanged but for the headers, and `init` is a new object", async () => {
    const { calls, fetch } = await openFetch();
    const { signal } = new AbortController();
    const init = {
      ...{ method: "POST", body: "which page", credentials: "include", cache: "no-store", redirect: "error", signal },
      ...{ referrerPolicy: "origin", keepalive: true, connectTimeout: 500, next: { revalidate: 0 } },
    } as const;
    await fetch(PAGE, init as RequestInit);
    const [{ input, init: sent = {} } = {}] = calls;
    const { headers, ...others } = sent;
    expect(input).toBe(PAGE);
    expect(sent).not.toBe(init);
    expect(Object.getPrototypeOf(sent)).toBe(Object.prototype);
    expect(others).toEqual(init);
    expect(others.signal).toBe(signal);
    expect(headers).toEqual({ "Seen-Pending": expect.stringMatching(PENDING) as string });
    expect(Object.keys(init)).not.toContain("headers");
  });

  test("have headers of the same kind as the app's", async () => {
    const { calls, fetch } = await openFetch();
    const pending = expect.stringMatching(PENDING) as string;
    const given = [
      { Authorization: "Bearer x", "seen-pending": "of the app" },
      [
        ["Authorization", "Bearer x"],
        ["SEEN-PENDING", "of the app"],
      ],
      new Headers({ Authorization: "Bearer x", "Seen-Pending": "of the app" }),
    ] as const;
    for (const headers of given) await fetch(PAGE, { headers: headers as HeadersInit });
    const [plain, list, headers] = calls.map(({ init }) => init?.headers);
    expect(plain).toEqual({ Authorization: "Bearer x", "Seen-Pending": pending });
    expect(list).toEqual([
      ["Authorization", "Bearer x"],
      ["Seen-Pending", pending],
    ]);
    expect(headers).toBeInstanceOf(Headers);
    expect([...(headers as Headers)]).toEqual([
      ["authorization", "Bearer x"],
      ["seen-pending", pending],
    ]);
    expect(given[2].get("seen-pending")).toBe("of the app");
  });

  test.each([
    ["alone", (request: Request) => [request]],
    ["as the options of an address", (request: Request) => [PAGE, request]],
  ] as [string, (request: Request) => Parameters<Fetch>][])(
    "have the properties of a Request, %s",
    async (_, argumentsOf) => {
      const { calls, sent, fetch } = await openFetch();
      const { signal, ...controller } = { signal: AbortSignal.timeout(60_000) };
      const request = new Request(PAGE, {
        ...{ method: "POST", body: "which page", headers: { Authorization: "Bearer x" }, signal },
        ...{ referrer: "", referrerPolicy: "origin", credentials: "omit", redirect: "error", ...controller },
      });
      const [input, init] = argumentsOf(request);
      await fetch(input, init);
      const [out] = sent;
      expect(calls[0]?.input).toBe(input);
      expect(await out?.text()).toBe("which page");
      const { method, referrer, referrerPolicy, credentials, redirect } = request;
      expect(out).toMatchObject({ method, referrer, referrerPolicy, credentials, redirect });
      expect({ method, referrer, referrerPolicy, credentials }).toEqual({
        ...{ method: "POST", referrer: "", referrerPolicy: "origin", credentials: "omit" },
      });
      expect(out?.headers.get("authorization")).toBe("Bearer x");
      expect(out?.headers.get("seen-pending")).toMatch(PENDING);
    },
  );

  test("have no headers once the guard is closed, and their responses are not read", async () => {
    const { guard, calls, fetch, errors } = await openFetch(async () => page(await shippedSnapshot(["a"])));
    const early = await fetch(PAGE);
    await guard.close();
    const late = await fetch(PAGE);
    expect(calls[1]?.init).toBe(undefined);
    expect([early, late].map((answer) => Object.hasOwn(answer, "json"))).toEqual([true, false]);
    expect(await early.json()).toHaveProperty("snapshot");
    expect(errors).toEqual([]);
  });

  test("use the global fetch of the time when this one was created, so that it may replace it", async () => {
    const network = vi.fn<Fetch>(async () => page(await shippedSnapshot(["a"])));
    vi.stubGlobal("fetch", network);
    try {
      const { guard } = await openGuard();
      globalThis.fetch = guard.fetch({ match: MATCH });
      await (await fetch(PAGE)).json();
      expect(isSeen(guard)).toBe(true);
      expect(network).toHaveBeenCalledTimes(1);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe("a response", () => {
  test("is the same object, at once, though its body never ends", async () => {
    const answer = new Response(new ReadableStream());
    const { fetch } = await openFetch(() => answer);
    const response = await fetch(PAGE);
    expect(response).toBe(answer);
    expect(response.body).toBe(answer.body);
    expect(response.bodyUsed).toBe(false);
  });

  test.each<[string, (response: Response) => Promise<unknown>]>([
    ["json", (response) => response.json()],
    ["text", async (response) => JSON.parse(await response.text()) as unknown],
    ["json of a clone", (response) => response.clone().json()],
    ["text of a clone's clone", async (response) => JSON.parse(await response.clone().clone().text()) as unknown],
  ])("has its snapshot applied when its %s resolves, and no sooner", async (_, read) => {
    const snapshot = await shippedSnapshot(["a"]);
    const { guard, fetch } = await openFetch(() => page(snapshot));
    const response = await fetch(PAGE);
    expect(isSeen(guard)).toBe(false);
    expect(await read(response)).toEqual({ items: [{ id: "a" }, { id: "b" }], snapshot });
    expect(isSeen(guard)).toBe(true);
  });

  test("has its snapshot applied once, however often it is read", async () => {
    const { guard, fetch } = await openFetch(async () => page({ ...(await shippedSnapshot(["a"])), version: 1 }));
    const apply = vi.spyOn(JSON, "parse");
    const response = await fetch(PAGE);
    await response.clone().text();
    await response.text();
    expect(apply).toHaveBeenCalledTimes(1);
    apply.mockRestore();
    expect(guard.stats().version).toBe(1);
  });

  test("of a native bridge, which redefines methods of Response, keeps them", async () => {
    const url = "https://native.example/";
    const answer = page(await shippedSnapshot(["a"]));
    const clone = () => Object.defineProperty(page(undefined), "url", { value: "of the clone" });
    for (const [name, value] of Object.entries({ url, clone })) {
      Object.defineProperty(answer, name, { value, configurable: name === "url" });
    }
    const { guard, fetch } = await openFetch(() => answer);
    const response = await fetch(PAGE);
    expect(response).toMatchObject({ url });
    expect(response.clone().url).toBe("of the clone");
    await response.json();
    expect(isSeen(guard)).toBe(true);
  });

  test("that is frozen, or not an object, is returned unchanged", async () => {
    for (const answer of [Object.freeze(page(undefined)), undefined, { data: [] }] as Response[]) {
      const { fetch } = await openFetch(() => answer);
      expect(await fetch(PAGE)).toBe(answer);
    }
  });

  test.each([
    ["no JSON", () => new Response("<p>{", { headers: { "content-type": "text/html" } })],
    ["broken JSON", () => new Response("{", { headers: { "content-type": "application/json" } })],
    ["a list", () => Response.json([{ id: "a" }])],
    ["a snapshot that is none", () => page(7)],
    ["a snapshot of something else", () => page({ version: 1, shards: "none", unseen: 7 })],
    ["an empty answer", () => new Response(null, { status: 204 })],
  ])("with %s is handed on unchanged, and no error is reported", async (_, answer) => {
    const { fetch, errors } = await openFetch(answer);
    expect(await (await fetch(PAGE)).text()).toBe(await answer().text());
    expect(errors).toEqual([]);
  });

  test("with a damaged snapshot is passed on, and the damage is reported", async () => {
    const { fetch, codes } = await openFetch(() => page({ shards: ["?"] }));
    expect(await (await fetch(PAGE)).json()).toHaveProperty("snapshot");
    expect(codes()).toEqual(["bad-snapshot"]);
  });

  test("rejects a read as without the guard", async () => {
    const { fetch } = await openFetch(() => new Response("{"));
    expect(await failureOf((await fetch(PAGE)).json())).toBeInstanceOf(SyntaxError);
  });
});

/** A page at this address. */
function onPage(href: string): void {
  const { origin } = new URL(href);
  vi.stubGlobal("location", { href, origin });
  onTestFinished(() => void vi.unstubAllGlobals());
}

describe("a string matches a path", () => {
  const isMatched = async (url: string, match: GuardedFetchOptions["match"] = "/api/feed") => {
    const { sent, fetch } = await openFetch(undefined, { match });
    await fetch(url);
    return withHeaders(sent)[0];
  };

  test("and paths below it, only on the page's own origin", async () => {
    onPage("https://app.example/home");
    for (const path of ["/api/feed", "/api/feed?cursor=2", "/api/feed/latest"])
      expect([path, await isMatched(`https://app.example${path}`)]).toEqual([path, true]);
    for (const url of ["/api/feedback", "/x/api/feed", "/api?next=/api/feed"])
      expect([url, await isMatched(`https://app.example${url}`)]).toEqual([url, false]);
    expect(await isMatched("https://tracker.example/api/feed")).toBe(false);
  });

  test("on any origin if the page has none", async () => {
    expect(await isMatched("https://feed.example/api/feed")).toBe(true);
    onPage("file:///app/index.html");
    expect(await isMatched("https://feed.example/api/feed")).toBe(true);
    expect(await isMatched("https://feed.example/api/feedback")).toBe(false);
  });

  test("and a URL matches its origin, too", async () => {
    onPage("https://app.example/home");
    const match = new URL("https://feed.example/api/feed");
    expect(await isMatched("https://feed.example/api/feed/2", match)).toBe(true);
    expect(await isMatched("https://app.example/api/feed", match)).toBe(false);
  });
});

describe("a GET that is refused", () => {
  const fail = (): never => {
    throw new TypeError("Failed to fetch");
  };
  const refusals: [string, () => Response][] = [
    ["a TypeError", fail],
    ["400", () => new Response("refused", { status: 400 })],
    ["431", () => new Response("refused", { status: 431 })],
  ];

  test.each(refusals)("by %s is sent again without the headers, and the next one has them", async (_, refuse) => {
    const { sent, fetch } = await openFetch((_, { headers }) =>
      headers.has("seen-pending") ? refuse() : page(undefined),
    );
    for (const _ of [1, 2]) expect((await fetch(PAGE)).status).toBe(200);
    expect(withHeaders(sent)).toEqual([true, false, true, false]);
  });

  test("because the network failed once has no effect on the headers of later requests", async () => {
    let isDown = true;
    const { sent, fetch } = await openFetch(() => (isDown ? fail() : page(undefined)));
    await fetch(PAGE).catch(() => {});
    isDown = false;
    await fetch(PAGE);
    await fetch(PAGE, { method: "POST", body: "{}" });
    expect(withHeaders(sent)).toEqual([true, false, true, true]);
  });

  test("both times returns the last response or error to the app", async () => {
    for (const answer of [() => new Response("refused", { status: 400 }), fail]) {
      const { sent, fetch } = await openFetch(answer);
      const outcome = await fetch(PAGE).catch((cause: unknown) => cause);
      expect(outcome).toEqual(
        outcome instanceof Response ? expect.objectContaining({ status: 400 }) : expect.any(TypeError),
      );
      expect(withHeaders(sent)).toEqual([true, false]);
    }
  });

  test("has the unread body of the refusal cancelled", async () => {
    const cancel = vi.fn(() => Promise.reject(new Error("of the body")));
    const refusal = Object.defineProperty(new Response("refused", { status: 400 }), "body", { value: { cancel } });
    const { fetch } = await openFetch((_, { headers }) => (headers.has("seen-pending") ? refusal : page(undefined)));
    expect((await fetch(PAGE)).status).toBe(200);
    expect(cancel).toHaveBeenCalledOnce();
  });

  test("and then fails returns the refusal to the app", async () => {
    const { fetch } = await openFetch((_, { headers }) =>
      headers.has("seen-pending") ? new Response("why", { status: 400 }) : fail(),
    );
    expect(await (await fetch(PAGE)).text()).toBe("why");
  });

  test("is not repeated if the app has aborted it, or fetch fails otherwise", async () => {
    const controller = new AbortController();
    const reason = new TypeError("of the app");
    const { sent, fetch } = await openFetch(() => {
      controller.abort(reason);
      throw reason;
    });
    expect(await failureOf(fetch(PAGE, { signal: controller.signal }))).toBe(reason);
    expect(sent).toHaveLength(1);
    const other = await openFetch(() => {
      throw new RangeError("of the app");
    });
    expect(await failureOf(other.fetch(PAGE))).toBeInstanceOf(RangeError);
    expect(other.sent).toHaveLength(1);
  });
});

test("another method is sent once, with the headers on the page's own origin alone", async () => {
  onPage("https://app.example/home");
  const { sent, fetch } = await openFetch(() => new Response("refused", { status: 400 }), { match: /graphql/ });
  for (const host of ["app", "feed"]) await fetch(`https://${host}.example/graphql`, { method: "POST", body: "{}" });
  expect(withHeaders(sent)).toEqual([true, false]);
});

test("a match that throws is an uncaught error of the app, and the request is sent unchanged", async () => {
  const uncaught = vi.fn();
  process.once("uncaughtException", uncaught);
  const { calls, fetch } = await openFetch(() => new Response("as it is"), {
    match: () => {
      throw new Error("of the app");
    },
  });
  expect(await (await fetch(PAGE)).text()).toBe("as it is");
  expect(calls[0]?.init).toBe(undefined);
  await vi.waitFor(() => expect(uncaught).toHaveBeenCalledOnce());
});

test.each([
  undefined,
  {},
  { match: "" },
  { match: "api/page" },
  { match: 7 },
  { match: "/", fetch: "fetch" },
  { match: "/", typo: 1 },
])("the options %j are wrong", async (options) => {
  const { guard } = await openGuard();
  expect(() => guard.fetch(options as GuardedFetchOptions)).toThrow(expect.objectContaining({ code: "bad-option" }));
});
