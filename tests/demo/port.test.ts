/** `fetch` over a MessagePort, by which the demo's page reaches the server in its worker, behaves like `fetch` over a network. */
import { expect, onTestFinished, test } from "vitest";
import { fetchOver, serveOver, type Handler } from "../../www/alone/port.ts";

const directory = new URL("http://page.example/demo/");
const patience = { intervalMs: 20, pings: 3, startPings: 6 };

/** The `fetch` of a page whose worker responds by `handler`. */
function fetchFrom(handler: Handler): typeof fetch {
  return fetchOver(
    () => {
      const { port1, port2 } = new MessageChannel();
      onTestFinished(() => port1.close());
      serveOver(port2, handler);
      return port1;
    },
    directory,
    patience,
  );
}

/** A body that the test writes chunk by chunk. */
function bodyByHand(): {
  response: Response;
  next: (text: string) => void;
  fail: () => void;
  cancelled: Promise<unknown>;
} {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let response = new Response();
  const cancelled = new Promise((resolve) => {
    response = new Response(new ReadableStream({ start: (started) => void (controller = started), cancel: resolve }));
  });
  return {
    response,
    next: (text) => controller?.enqueue(new TextEncoder().encode(text)),
    fail: () => controller?.error(new Error("the body broke")),
    cancelled,
  };
}

test("a request and its response arrive unchanged", async () => {
  const ask = fetchFrom(async (request) => {
    const said = [request.method, request.url, request.headers.get("seen-held"), await request.text()];
    return Response.json(said, { status: 201, headers: { "x-answer": "yes" } });
  });
  const response = await ask("./api/feed?turn=1", { method: "POST", headers: { "Seen-Held": "abc" }, body: "öl" });
  expect([response.status, response.ok, response.headers.get("x-answer")]).toEqual([201, true, "yes"]);
  expect(await response.json()).toEqual(["POST", "http://page.example/demo/api/feed?turn=1", "abc", "öl"]);
});

test("a response without a body has none", async () => {
  const response = await fetchFrom(() => Promise.resolve(new Response(null, { status: 204 })))("./api/x");
  expect([response.status, response.body, await response.text()]).toEqual([204, null, ""]);
});

test("a body can be read before its rest is written", async () => {
  const { response, next } = bodyByHand();
  const body = (await fetchFrom(() => Promise.resolve(response))("./api/x")).body?.getReader();
  for (const text of ["first", "second"]) {
    const reading = body?.read();
    next(text);
    expect(new TextDecoder().decode((await reading)?.value)).toBe(text);
  }
});

test("an aborted request rejects with the reason at once, and the handler's request is aborted", async () => {
  let received: Request | undefined;
  const ask = fetchFrom((request) => {
    received = request;
    return new Promise(() => undefined);
  });
  const aborting = new AbortController();
  const asking = ask("./api/x", { signal: aborting.signal });
  await expect.poll(() => received).toBeDefined();
  const reason = new Error("no longer wanted");
  aborting.abort(reason);
  await expect(asking).rejects.toBe(reason);
  await expect.poll(() => received?.signal.aborted).toBe(true);
  await expect(ask("./api/x", { signal: aborting.signal })).rejects.toBe(reason);
});

test("an abort while the body is read fails the reading, and the handler's body is cancelled", async () => {
  const { response, cancelled } = bodyByHand();
  const aborting = new AbortController();
  const answer = await fetchFrom(() => Promise.resolve(response))("./api/x", { signal: aborting.signal });
  const reading = answer.text();
  const reason = new Error("too late");
  aborting.abort(reason);
  await expect(reading).rejects.toBe(reason);
  await cancelled;
});

test("a handler that throws, and a body that breaks, reject with a TypeError", async () => {
  await expect(fetchFrom(() => Promise.reject(new Error("the handler broke")))("./api/x")).rejects.toThrow(TypeError);
  const { response, fail } = bodyByHand();
  const answer = await fetchFrom(() => Promise.resolve(response))("./api/x");
  const reading = answer.text();
  fail();
  await expect(reading).rejects.toThrow(new TypeError("Error: the body broke"));
});

test("a handler that is slower than the timeout for a dead worker is waited for", async () => {
  const waitMs = 3 * patience.intervalMs * patience.startPings;
  const ask = fetchFrom(async () => {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    return new Response("late");
  });
  expect(await (await ask("./api/x")).text()).toBe("late");
});

test("when the worker dies, requests in progress reject, and the next request starts another worker", async () => {
  const workers: MessagePort[] = [];
  const { response } = bodyByHand();
  const ask = fetchOver(
    () => {
      const { port1, port2 } = new MessageChannel();
      onTestFinished(() => port1.close());
      workers.push(port2);
      serveOver(port2, ({ url }) =>
        url.endsWith("/body") ? Promise.resolve(response) : Promise.resolve(new Response("alive")),
      );
      return port1;
    },
    directory,
    patience,
  );
  const body = (await ask("./api/body")).text();
  const [worker] = workers;
  if (worker) worker.onmessage = null; // as of a worker that has ended, nothing comes any more
  const answer = ask("./api/x");
  await expect(body).rejects.toThrow("the worker does not respond");
  await expect(answer).rejects.toThrow(new TypeError("the worker does not respond"));
  expect(await (await ask("./api/x")).text()).toBe("alive");
  expect(workers).toHaveLength(2);
});

test("a request outside the page's api/ is made over the network", async () => {
  const ask = fetchFrom(() => Promise.resolve(new Response("worker")));
  expect(await (await ask("data:text/plain,network")).text()).toBe("network");
  expect(await (await ask(new Request("http://page.example/demo/api/x"))).text()).toBe("worker");
});
