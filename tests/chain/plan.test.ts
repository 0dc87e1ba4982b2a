/** `plan`: the cost of a chain, computed synchronously; and `npx seenguard plan`. */
import vm from "node:vm";
import { plan } from "seenguard/server";
import { describe, expect, test } from "vitest";
import { runCommand } from "../support/processes.js";
import { bareRealm, importInto } from "../support/realm.js";
import { DAY_SECONDS, NOW } from "../support/node.js";

type Server = typeof import("seenguard/server");

const USUAL = { perDay: 150, windowDays: 30, falsePositiveRate: 0.005 };

describe("a plan", () => {
  test("is available before any chain is created", () => {
    expect(plan(USUAL)).toEqual({
      capacity: 281,
      shards: 20,
      falsePositiveRate: 0.00025,
      ttlSeconds: 30 * DAY_SECONDS,
      bytesStored: 17_200,
      bytesFirstPage: 17_316,
      bytesRefresh: 1078,
    });
  });

  test.each([
    { what: "nothing", options: undefined, message: /^plan takes an object of options/ },
    { what: "no rate", options: { perDay: 1, windowDays: 1 }, message: /^falsePositiveRate must be/ },
    { what: "an unknown name", options: { ...USUAL, days: 1 }, message: /^plan has no option "days"/ },
    { what: "a string", options: { ...USUAL, perDay: "150" }, message: /^perDay must be a number over 0/ },
    { what: "0 refreshes", options: { ...USUAL, perRefresh: 0 }, message: /^perRefresh must be a number over 0/ },
    { what: "a second", options: { ...USUAL, windowDays: 1 / 86_400 }, message: /^the window must be a minute/ },
  ])("of $what is refused", ({ options, message }) => {
    expect(() => plan(options as unknown as typeof USUAL)).toThrow(
      expect.objectContaining({ code: "bad-option", message: expect.stringMatching(message) as unknown }),
    );
  });

  test("beyond any chain is refused with a remedy", () => {
    expect(() => plan({ ...USUAL, perDay: 1e6 })).toThrow(expect.objectContaining({ code: "bad-option" }));
    expect(() => plan({ ...USUAL, falsePositiveRate: 1e-12 })).toThrow(expect.objectContaining({ code: "bad-option" }));
  });
});

describe("without waiting for the engine", () => {
  /** A realm that counts how often a module is instantiated. */
  function countingRealm(): { server: Server; run: (code: string) => unknown } {
    const realm = vm.createContext({ TextEncoder, TextDecoder });
    const run = (code: string): unknown => vm.runInContext(code, realm);
    run(`{
      globalThis.instances = 0;
      const { Instance, instantiate } = WebAssembly;
      WebAssembly.Instance = function (module, imports) { instances++; return new Instance(module, imports); };
      WebAssembly.instantiate = (...given) => { instances++; return instantiate(...given); };
    }`);
    return { server: importInto(realm, "server") as Server, run };
  }

  test("a plan and a chain run in one instance, whichever comes first", async () => {
    for (const planFirst of [true, false]) {
      const { server, run } = countingRealm();
      if (planFirst) expect(server.plan(USUAL).shards).toBe(20);
      const chains = [server.ShardChain.create(), server.ShardChain.create()];
      expect(server.plan(USUAL).shards).toBe(20);
      for (const chain of await Promise.all(chains)) expect(chain.record(["a"], { now: NOW })).toBe(1);
      expect(run("instances")).toBe(1);
    }
  });

  test("a page that may not compile synchronously gets an error that names the call to await first", async () => {
    const { server, run } = countingRealm();
    // As on the main thread of Chrome before 114.
    run(`WebAssembly.Module = function () { throw new RangeError("WebAssembly.Compile is disallowed here"); }`);
    expect(() => server.plan(USUAL)).toThrow(
      expect.objectContaining({
        code: "engine",
        message: expect.stringMatching(/await ShardChain\.create\(\).* first: .*disallowed here/) as unknown,
      }),
    );
    const chains = await Promise.all([server.ShardChain.create(), server.ShardChain.create()]);
    expect(server.plan(USUAL).shards).toBe(20);
    for (const chain of chains) expect(chain.record(["a"], { now: NOW })).toBe(1);
    expect(run("instances")).toBe(1);
  });

  test("without WebAssembly it throws `engine`, and still checks its options", () => {
    const { plan } = importInto(bareRealm().realm, "server") as Server;
    expect(() => plan(USUAL)).toThrow(expect.objectContaining({ code: "engine" }));
    expect(() => plan({ ...USUAL, perDay: 0 })).toThrow(expect.objectContaining({ code: "bad-option" }));
  });
});

describe("npx seenguard plan", () => {
  const args = ["--per-day", "150", "--window-days", "30", "--rate", "0.005"];

  test("prints a chain's costs in words, and the line to paste", async () => {
    const { status, stdout, stderr } = await runCommand(["plan", ...args]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const line of [
      /^ {2}shards +20$/m,
      /^ {2}capacity +281 items a shard$/m,
      /^ {2}ttl +2,592,000 s: an item is remembered for 30 to 31\.6 days$/m,
      /^ {2}bits \(m\) +4,851 a shard, 97,020 in all$/m,
      /^ {2}hashes \(k\) +12$/m,
      /^ {2}false positive rate +\S+ \(1 in [\d,]+\) after the first day$/m,
      /^ +0\.00499 \(1 in 200\) when all shards are full$/m,
      /^ {2}in the store +17\.2 KB$/m,
      /^ {2}with a first page +17\.3 KB$/m,
      /^ {2}with a refresh +1\.08 KB$/m,
    ])
      expect(stdout).toMatch(line);
    const [, options = ""] = /^redisStore\(client, (\{.*\})\)\n$/m.exec(stdout) ?? [];
    expect(vm.runInNewContext(`(${options})`)).toEqual({
      capacity: 281,
      shards: 20,
      falsePositiveRate: 0.00025,
      ttlSeconds: 30 * DAY_SECONDS,
    });
  });

  test("prints the costs of many users together", async () => {
    const { stdout } = await runCommand(["plan", ...args, "--users", "100000000"]);
    expect(stdout).toMatch(/^ {2}in the store +17\.2 KB; of 100,000,000 users 1\.72 TB$/m);
    expect(stdout).toMatch(/^ {2}with a refresh +1\.08 KB; of 100,000,000 users 108 GB$/m);
  });

  test("prints the same in JSON", async () => {
    const { stdout } = await runCommand(["plan", ...args, "--per-refresh", "20", "--users", "1000", "--json"]);
    const expected = plan({ ...USUAL, perRefresh: 20 });
    const printed = JSON.parse(stdout) as typeof expected & { all: typeof expected; rateWhenFull: number };
    expect(printed).toMatchObject({
      ...expected,
      bits: 4851,
      hashes: 12,
      rateWhenYoung: expect.any(Number) as unknown,
    });
    expect(printed.rateWhenFull).toBeCloseTo(0.005, 4);
    expect(printed.all).toEqual({
      users: 1000,
      bytesStored: 1000 * expected.bytesStored,
      bytesFirstPage: 1000 * expected.bytesFirstPage,
      bytesRefresh: 1000 * expected.bytesRefresh,
    });
  });

  test.each([
    { what: "nothing", args: [] },
    { what: "no rate", args: args.slice(0, 4) },
    { what: "a rate of 1", args: [...args, "--rate", "1"] },
    { what: "a word for a number", args: [...args, "--per-day", "many"] },
    { what: "half a user", args: [...args, "--users", "0.5"] },
    { what: "a window of a second", args: [...args, "--window-days", "0.00001"] },
    { what: "an unknown option", args: [...args, "--verbose"] },
    { what: "a positional argument", args: [...args, "more"] },
  ])("with $what exits with status 2 and a message that names the remedy", async ({ args }) => {
    const { status, stdout, stderr } = await runCommand(["plan", ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^seenguard: .* \(https:\S+#bad-option\); see seenguard plan --help\n$/);
  });

  test("beyond any chain ends with status 2, also with --json", async () => {
    const { status, stdout, stderr } = await runCommand(["plan", ...args, "--per-day", "1e6", "--json"]);
    expect(status).toBe(2);
    expect(stderr).toMatch(/fewer a day.* \(https:\S+#bad-option\); see seenguard plan --help\n$/);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "bad-option" } });
  });

  test("--help lists every option", async () => {
    const { status, stdout } = await runCommand(["plan", "--help"]);
    expect(status).toBe(0);
    for (const option of ["per-day", "window-days", "rate", "per-refresh", "users", "json", "help"])
      expect(stdout).toContain(`--${option}`);
  });
});
