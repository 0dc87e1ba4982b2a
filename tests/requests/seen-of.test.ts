/** `seenOf` on the requests of each framework, and on other values. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { seenOf } from "seenguard/server";
import { describe, expect, onTestFinished, test } from "vitest";

const held = "9c3f6e1a2b7d.4be01d7f93a2";
const pending = "0a1b00000007.1z.0.Dn4S_-5b";
const headers = { "Seen-Held": held, "Seen-Pending": pending };
const query = new URLSearchParams(headers).toString();
type Seen = ReturnType<typeof seenOf>;

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** Servers that respond with the result of `seenOf`. */
const frameworks: Record<string, () => Promise<(path: string, init?: RequestInit) => Promise<Response>>> = {
  Node: async () => {
    const url = await listen(
      createServer((request: IncomingMessage, answer) => answer.end(JSON.stringify(seenOf(request)))),
    );
    return (path, init) => fetch(url + path, init);
  },
  Express: async () => {
    const app = express().get("/", (request, response) => void response.json(seenOf(request)));
    const url = await listen(createServer(app as never));
    return (path, init) => fetch(url + path, init);
  },
  Fastify: async () => {
    const app = Fastify().get("/", (request, reply) => reply.send(seenOf(request)));
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => void app.close());
    return (path, init) => fetch(url + path, init);
  },
  Hono: () => {
    const app = new Hono().get("/", (context) => context.json(seenOf(context.req)));
    return Promise.resolve(async (path, init) => app.request(path, init));
  },
  Fetch: () =>
    Promise.resolve((path, init) => {
      return Promise.resolve(Response.json(seenOf(new Request(`http://localhost${path}`, init))));
    }),
};

describe.each(Object.entries(frameworks))("a request of %s", (_, open) => {
  test("reads `Seen-Held` and `Seen-Pending` from the headers, else from the query", async () => {
    const ask = await open();
    const answer = async (path: string, init?: RequestInit) => (await (await ask(path, init)).json()) as Seen;
    expect(await answer("/", { headers })).toEqual({ held, pending });
    expect(await answer(`/?page=2&${query}`)).toEqual({ held, pending });
    expect(await answer(`/?${query.toLowerCase().split("&")[0] ?? ""}`)).toEqual({ held });
    expect(await answer(`/?${query.replace(held, "other")}`, { headers: { "seen-held": held } })).toEqual({
      held,
      pending,
    });
    expect(await answer("/?Seen-Held=a&Seen-Held=b", { headers: { "Seen-Pending": "" } })).toMatchObject({});
    expect(await answer("/?cursor=1")).toEqual({});
  });
});

describe("seenOf", () => {
  test("accepts headers and parameters of any kind, in any letter case", () => {
    for (const given of [
      new Headers(headers),
      headers,
      { "seen-held": held, "seen-pending": pending },
      { "SEEN-HELD": held, "Seen-pending": pending, other: 7 },
      new URLSearchParams(query),
      new Map(Object.entries(headers)),
      Object.assign(Object.create(null) as object, headers),
      { headers: new Headers(headers) },
      { headers: { "seen-held": held }, query: { "Seen-Pending": pending } },
      { url: `/feed?${query}#top` },
      { method: "GET", raw: new Request("http://localhost/", { headers }) },
    ])
      expect(seenOf(given)).toEqual({ held, pending });
  });

  test("returns nothing for other values, and never throws", () => {
    const throwing = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
        ownKeys: () => {
          throw new Error("no");
        },
      },
    );
    const revocable = Proxy.revocable({}, {});
    revocable.revoke();
    for (const given of [
      ...[undefined, null, 0, "", "Seen-Held=a", true, 7n, Symbol("a"), [], [["seen-held"]], [null], () => "a"],
      ...[
        throwing,
        revocable.proxy,
        { headers: throwing, query: throwing, url: 7 },
        { headers: 7, query: "a", url: "%" },
      ],
      ...[
        { "Seen-Held": 7, "Seen-Pending": ["a", "b"] },
        { "seen-held": "", "seen-pending": null },
      ],
      ...[{ headers: { "seen-held": ["a"] } }, Object.create({ "seen-held": "a" }) as object],
    ])
      expect(seenOf(given)).toEqual({});
  });
});
