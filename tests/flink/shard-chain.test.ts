/** `ShardChain.java` makes of the same events the same bytes as the package's ShardChain. */
import { ShardChain, type ChainOptions, type Snapshot } from "seenguard/server";
import { beforeAll, describe, expect, test } from "vitest";
import { Random } from "../node/support.ts";
import { base64, buildDriver } from "./driver.ts";

let drive: (commands: readonly string[]) => Promise<string[]>;
beforeAll(async () => {
  drive = await buildDriver("shard-chain");
});

const DAY_MS = 86_400_000;
const START_MS = 1_764_000_000_000;
const defaults: Omit<Required<ChainOptions>, "format"> = {
  capacity: 1000,
  shards: 5,
  falsePositiveRate: 0.001,
  seed: 0n,
  ttlSeconds: 0,
};

interface Stored {
  readonly shards: readonly string[];
  readonly fields: Readonly<Record<string, string>>;
}

/** A snapshot as Redis holds it. */
function storedOf({ shards, unseen = [], forgetBefore }: Snapshot & { shards: string[] }): Stored {
  const fields = new Map(unseen.map(({ id, at }) => [`unseen:${id}`, String(at)]));
  if (forgetBefore !== undefined) fields.set("forgetBefore", String(forgetBefore));
  return { shards, fields: Object.fromEntries(fields) };
}

interface Event {
  readonly kind: "seen" | "unseen";
  readonly id: string;
  readonly at: number;
  readonly arrived: number;
}

/** A report of one event, as it arrives. */
function ingestEvent(chain: ShardChain, { kind, id, at, arrived }: Event): void {
  const [impressions, unseen] = kind === "seen" ? [[{ id, at }], []] : [[], [{ id, at }]];
  chain.ingest({ namespace: "ada", receivedAt: arrived, impressions, unseen });
}

/** Events of a user over `days`: repeated, late, out of order and taken back. */
function* eventsOf(random: Random, count: number, days: number): Generator<Event> {
  let arrived = START_MS;
  for (let number = 0; number < count; number++) {
    // Mostly bursts, sometimes a pause.
    arrived += random.below(10) === 0 ? random.below((20 * days * DAY_MS) / count) : random.below(500);
    const recent = Math.max(0, number - random.below(40));
    const id = `нов-${String(random.below(3) === 0 ? recent : number)}`;
    const late = random.below(4) === 0 ? random.below(2 * DAY_MS) : -random.below(2000) + 1000;
    yield { kind: random.below(12) === 0 ? "unseen" : "seen", id, at: arrived - late, arrived };
  }
}

const optionsOf = ({ capacity, shards, falsePositiveRate, seed, ttlSeconds }: typeof defaults) =>
  `options ${[capacity, shards, falsePositiveRate, seed, ttlSeconds].join(" ")}`;

/** Commands for Java, and what it should store. */
interface Scenario {
  readonly commands: string[];
  readonly expected: Stored[];
}

/**
 * Runs events in the package. `handsOver`: now and then the history is deleted or something is taken back, and both go
 * on from what is stored.
 */
async function scenarioOf(options: ChainOptions, seed: number, days: number, handsOver: boolean): Promise<Scenario> {
  const random = new Random(seed);
  let chain = await ShardChain.create(options);
  const commands = [optionsOf({ ...defaults, ...options }), `restore {"shards":[],"fields":{}}`];
  const expected: Stored[] = [];
  for (const event of eventsOf(random, 1500, days)) {
    ingestEvent(chain, event);
    const { kind, id, at, arrived } = event;
    commands.push(`ingest ${kind} ${base64(id)} ${String(at)} ${String(arrived)}`);
    if (random.below(20) > 0) continue;
    const now = Math.floor(arrived / 1000);
    commands.push(`stored ${String(now)}`);
    expected.push(storedOf(chain.snapshot({ now })));
    if (!handsOver) continue;
    if (random.below(10) === 0) chain.forget({ now });
    else chain.unsee(id, { now });
    const snapshot = chain.snapshot({ now });
    chain.free();
    chain = await ShardChain.from(snapshot, options);
    commands.push(`restore ${JSON.stringify(storedOf(snapshot))}`);
  }
  chain.free();
  return { commands, expected };
}

describe("the same events make the same bytes", () => {
  test.each([
    { options: {}, days: 1, shards: 2 },
    { options: { capacity: 50, shards: 10, falsePositiveRate: 0.02, seed: 2n ** 64n - 1n }, days: 3, shards: 10 },
    {
      options: { capacity: 250, shards: 20, falsePositiveRate: 0.00025, ttlSeconds: 30 * 86_400 },
      days: 60,
      shards: 10,
    },
    { options: { capacity: 20, shards: 3, ttlSeconds: 86_400, seed: 42n }, days: 20, shards: 3 },
    { options: { capacity: 3, shards: 1, ttlSeconds: 7 * 86_400 }, days: 90, shards: 1 },
  ])("with $options", async ({ options, days, shards }) => {
    const scenarios: Scenario[] = [];
    for (const seed of [1, 2, 3])
      for (const handsOver of [false, true]) scenarios.push(await scenarioOf(options, seed, days, handsOver));
    const answers = await drive(scenarios.flatMap(({ commands }) => commands));
    const stored = answers.filter((answer) => answer.startsWith("{")).map((answer) => JSON.parse(answer) as Stored);
    expect(stored).toEqual(scenarios.flatMap(({ expected }) => expected));
    expect(stored.length).toBeGreaterThan(200);
    expect(Math.max(...stored.map((list) => list.shards.length))).toBeGreaterThanOrEqual(shards);
  });
});
