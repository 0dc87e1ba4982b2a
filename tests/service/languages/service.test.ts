/** The clients of docs/other-languages.md, in Go, Java and Python, over the real service. */
import { SeenGuard, type Snapshot } from "seenguard";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildService, startService, type RunningService } from "../../../scripts/lib/service.mjs";
import { buildGo, buildJava, exampleOf, foreignExamples, makeTempDirectory, preparePython, run } from "./tools.ts";

interface Page {
  readonly items: string[];
  readonly next: string | null;
  readonly snapshot: Snapshot;
}
/** The arguments are the service's address, the user, the route and both headers. */
type Client = (args: readonly string[], body: string) => Promise<string>;

/** It has to be encoded in an address. */
const USER = "ada/é 1+1?";
const RANKED = ["a", "b", "c", "d", "e", "f"];

const directory = makeTempDirectory();
let service: RunningService;
beforeAll(async () => {
  service = await startService(await buildService(), ["--namespace", "home:{user}", "--log", "warn"]);
}, 900_000);
afterAll(async () => {
  await service.stop();
  directory.remove();
});

const clients: [string, () => Promise<Client>][] = [
  [
    "Go",
    async () => {
      const program = await buildGo(directory.path, ["go client"], "client.go");
      return (args, input) => run(program, args, { cwd: directory.path, input });
    },
  ],
  [
    "Java",
    async () => {
      const drive = await buildJava(directory.path, ["Seenguard"], "Client");
      return (args, input) => drive(input, args);
    },
  ],
  ["Python", () => Promise.resolve(preparePython(directory.path, "client", "post.py"))],
];

test("the client in Go is formatted as Go's are", async () => {
  const code = exampleOf("go client");
  expect(await run("gofmt", [], { cwd: directory.path, input: code })).toBe(code);
});

describe.each(clients)("the client in %s", (language, build) => {
  let client: Client;
  beforeAll(async () => {
    client = await build();
  });
  const user = `${language} ${USER}`;

  async function post(route: string, body: object, headers: Record<string, string> = {}) {
    const { "Seen-Held": held = "", "Seen-Pending": pending = "" } = headers;
    const answer = await client([service.url, user, route, held, pending], JSON.stringify(body));
    const end = answer.indexOf("\n");
    return { status: Number(answer.slice(0, end)), answer: answer.slice(end + 1) };
  }

  async function page(headers?: Record<string, string>, cursor: string | null = null): Promise<Page> {
    const { status, answer } = await post("page", { ranked: RANKED, size: 2, cursor }, headers);
    expect(status, answer).toBe(200);
    return JSON.parse(answer) as Page;
  }

  test("fills pages for a device, forwards its headers and reports, and returns refusals", async () => {
    const storage = new Map<string, string>();
    const guard = await SeenGuard.open({
      namespace: `home:${user}`,
      storage: {
        get: (key) => storage.get(key),
        set: (key, value) => void storage.set(key, value),
        remove: (key) => void storage.delete(key),
        keys: () => [...storage.keys()],
      },
    });
    await guard.flush(); // its name is stored
    const first = await page(guard.headers());
    expect(first.items).toEqual(["a", "b"]);
    expect(guard.apply(first.snapshot)).toMatchObject({ applied: true });
    guard.record(first.items);
    expect((await page(guard.headers())).items).toEqual(["c", "d"]);
    expect((await page({}, first.next)).items).toEqual(["c", "d"]);

    const now = Date.now();
    const report = { namespace: `home:${user}`, now, impressions: [{ id: "story-7", at: now }] };
    expect(await post("impressions", report)).toEqual({ status: 204, answer: "" });
    const covering = await page(guard.headers());
    expect(covering.snapshot.shards).toHaveLength(1);
    expect(guard.apply(covering.snapshot)).toMatchObject({ applied: true });
    // A device that holds the shard gets its reference.
    expect((await page(guard.headers())).snapshot.shards).toEqual([`~${guard.headers()["Seen-Held"] ?? ""}`]);

    const refused = await post("impressions", { ...report, namespace: "home:bob" });
    expect(refused.status).toBe(409);
    expect(JSON.parse(refused.answer)).toMatchObject({ code: "wrong-namespace" });
    expect((await post("page", { ranked: RANKED })).status).toBe(400);
    await guard.close();
  });
});

// Here or in tests/service/kafka.
test("every example in another language is run by a test", () => {
  const kinds = [
    "go client",
    "java Seenguard",
    "python client",
    "go snapshot",
    "java Snapshot",
    "python snapshot",
    "python native",
    "python pending",
    "go reports",
    "java Reports",
    "python reports",
  ];
  expect(foreignExamples.map(({ kind }) => kind)).toEqual(kinds);
});
