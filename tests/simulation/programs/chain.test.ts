/** The server's chain, pages and stores against a model: strange items, times, restarts, two servers at once. */
import fc from "fast-check";
import { Redis } from "ioredis";
import type { ItemId, Snapshot } from "seenguard";
import { NearDuplicates } from "seenguard/near-duplicates";
import { memoryStore, pageOf, redisStore, ShardChain, type Page, type SeenStore } from "seenguard/server";
import { afterAll, beforeAll, expect } from "vitest";
import { startRedis, type RunningRedis } from "../../../scripts/lib/redis.mjs";
import { pendingListOf } from "../../support/devices.js";
import { NOW } from "../../support/node.js";
import { canBeTakenBack, ChainModel, type Reported } from "./chain-model.js";
import { singleItems, buildList, listOf, POOL, poolId, type ListDescription } from "./items.js";
import { countCommands, runPrograms } from "./programs.js";

const SECONDS_A_STEP = 10;

/** `ago`: seconds before the report. */
interface Ago {
  readonly id: ItemId;
  readonly ago: number;
}

type Step =
  | { readonly do: "record" | "unsee"; readonly ids: readonly ItemId[] }
  | { readonly do: "ingest"; readonly impressions: readonly Ago[]; readonly unseen: readonly Ago[] }
  | { readonly do: "filter"; readonly list: ListDescription; readonly pending: readonly ItemId[] }
  | { readonly do: "forget" | "ship" }
  | {
      readonly do: "page";
      readonly size: number;
      readonly repeats: "drop" | "last";
      readonly recorded: readonly ItemId[];
    };

const ids = fc.array(poolId, { maxLength: 5 });
const ago = fc.array(fc.record({ id: poolId, ago: fc.nat({ max: 60 }) }), { maxLength: 4 });

const change: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("record" as const, "unsee" as const), ids }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("ingest" as const), impressions: ago, unseen: ago }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("forget" as const) }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: change },
  fc.record({ do: fc.constant("filter" as const), list: listOf(singleItems), pending: ids }),
  fc.record({ do: fc.constant("ship" as const) }),
  fc.record({
    do: fc.constant("page" as const),
    size: fc.integer({ min: 1, max: 9 }),
    repeats: fc.constantFrom("drop" as const, "last" as const),
    recorded: ids,
  }),
);

const reported = (list: readonly Ago[], now: number): Reported[] =>
  list.map(({ id, ago }) => ({ id: String(id), at: Math.floor((now - ago) * 1000) }));

/** Makes a change to a model. Returns what the chain's method does. */
function applyTo(model: ChainModel, step: Step, now: number): number | undefined {
  if (step.do === "record") return model.record(step.ids.map(String), now * 1000);
  if (step.do === "ingest") return model.ingest(reported(step.impressions, now), reported(step.unseen, now));
  if (step.do === "unsee") model.unsee(step.ids.map(String), now * 1000);
  else if (step.do === "forget") model.forget(now);
  return undefined;
}

/** Makes a change to a chain and its model, and compares what they return. */
function makeChange(chain: ShardChain, model: ChainModel, step: Step, now: number): void {
  const returned = applyTo(model, step, now);
  if (step.do === "record") expect(chain.record(step.ids, { now })).toBe(returned);
  else if (step.do === "unsee") {
    const unsee = () => {
      chain.unsee(step.ids, { now });
    };
    if (step.ids.every((id) => canBeTakenBack(String(id)))) unsee();
    else expect(unsee).toThrow(expect.objectContaining({ code: "bad-report" }));
  }
  if (step.do === "forget") chain.forget({ now });
  if (step.do === "ingest") {
    const [impressions, unseen] = [reported(step.impressions, now), reported(step.unseen, now)];
    expect(chain.ingest({ namespace: "home", receivedAt: now * 1000, impressions, unseen })).toBe(returned);
  }
}

function compareAnswers(
  chain: ShardChain,
  model: ChainModel,
  { list: description, pending: shown }: Step & { do: "filter" },
  now: number,
): void {
  const { list, values, ids } = buildList(description);
  const fresh = model.filter(ids, new Set(shown.map(String))).map((place) => values[place]);
  // The device knows of every deletion.
  const forgotten = Math.ceil(now).toString(36);
  const options = { now, pending: `.1.${forgotten}.${pendingListOf(shown.map(String))}` };
  const actual = chain.filter(list, options);
  expect(actual.every((item, index) => Object.is(item, fresh[index]))).toBe(true);
  expect(actual).toHaveLength(fresh.length);
}

/** Every page of all ids, while some are recorded between the pages: none twice, and no fresh one left out. */
function comparePages(chain: ShardChain, model: ChainModel, step: Step & { do: "page" }, now: number): void {
  const ranked = [...new Set(POOL.map(String))];
  const fresh = ranked.filter((id) => model.isFresh(id));
  const recorded = step.recorded.map(String);
  const given: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page === 0 || cursor !== null; page++) {
    const { items, next }: Page<string> = pageOf(chain, ranked, {
      size: step.size,
      repeats: step.repeats,
      cursor,
      now,
    });
    expect(items.length).toBeLessThanOrEqual(step.size);
    given.push(...items);
    cursor = next;
    const id = recorded[page];
    if (id !== undefined) expect(chain.record(id, { now })).toBe(model.record([id], now * 1000));
    if (page > ranked.length) throw new Error("the pages do not end");
  }
  expect(new Set(given).size).toBe(given.length);
  const wanted = step.repeats === "last" ? ranked : fresh.filter((id) => !recorded.includes(id));
  for (const id of wanted) expect(given).toContain(id);
}

/** What another server makes of what this one ships or stores. */
async function ship(chain: ShardChain, now: number): Promise<ShardChain> {
  const shipped: Snapshot = JSON.parse(JSON.stringify(chain.snapshot({ now }))) as Snapshot;
  chain.free();
  return ShardChain.from(shipped);
}

runPrograms("a chain", () =>
  fc.asyncProperty(fc.array(step, { maxLength: 30, size: "max" }), async (steps) => {
    let chain = await ShardChain.create();
    const model = new ChainModel();
    let now = NOW;
    for (const step of steps) {
      countCommands();
      if (step.do === "filter") compareAnswers(chain, model, step, now);
      else if (step.do === "ship") {
        chain = await ship(chain, now);
        model.ship();
      } else if (step.do === "page") comparePages(chain, model, step, now);
      else makeChange(chain, model, step, now);
      now += SECONDS_A_STEP;
    }
    for (const id of POOL) expect(chain.has(id, { now })).toBe(!model.isFresh(String(id)));
    chain.free();
  }),
);

let redis: RunningRedis;
let clients: Redis[] = [];
beforeAll(async () => {
  redis = await startRedis();
  clients = [new Redis(redis.port), new Redis(redis.port)];
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await redis.stop();
});

let users = 0;

/** A user, with characters that Redis, its scripts or its cluster might take for something else. */
const user = fc.string({
  minLength: 1,
  maxLength: 8,
  unit: fc.constantFrom("a", "{", "}", ":", "\0", "\u00e9", " ", "\r\n", "*"),
});

runPrograms("a store in Redis", () =>
  fc.asyncProperty(
    user,
    fc.array(fc.tuple(change, fc.array(ids, { maxLength: 3 })), { maxLength: 8 }),
    async (name, rounds) => {
      const own = `${String(++users)}${name}x`;
      const stores: SeenStore[] = [...clients.map((client) => redisStore(client)), memoryStore()];
      const model = new ChainModel();
      // As stores are: at the server's own time.
      const now = Math.floor(Date.now() / 1000);
      for (const [index, [step, recorded]] of rounds.entries()) {
        countCommands(1 + recorded.length);
        const at = now + index;
        const [changing, other, inMemory] = stores as [SeenStore, SeenStore, SeenStore];
        // Each beside a model of its own: a change may be made again.
        for (const store of [changing, inMemory])
          await store.update(own, (chain) => makeChange(chain, model.copy(), step, at));
        applyTo(model, step, at);
        // Two servers at once: neither loses what the other records.
        const record = (store: SeenStore, ids: readonly ItemId[]) =>
          store.update(own, (chain) => chain.record(ids, { now: at }));
        await Promise.all(recorded.map((ids, turn) => record(turn % 2 === 0 ? changing : other, ids)));
        await record(inMemory, recorded.flat());
        model.record(recorded.flat().map(String), at * 1000);
      }
      for (const store of stores) {
        const chain = await store.read(own);
        for (const id of POOL) expect(chain.has(id)).toBe(!model.isFresh(String(id)));
        chain.free();
      }
    },
  ),
);

const BITS = 64;

runPrograms("near-duplicates", () =>
  fc.asyncProperty(
    fc.integer({ min: 0, max: 3 }),
    fc.array(fc.tuple(fc.nat({ max: 3 }), fc.array(fc.nat({ max: BITS - 1 }), { maxLength: 4 })), { maxLength: 40 }),
    async (distance, fingerprints) => {
      const near = await NearDuplicates.create({ distance });
      const added: { readonly bits: bigint; readonly group: string }[] = [];
      for (const [index, [centre, flipped]] of fingerprints.entries()) {
        countCommands();
        const bits = flipped.reduce((sum, bit) => sum ^ (1n << BigInt(bit)), BigInt(centre) * 0x0123_4567_89ab_cdefn);
        const distanceTo = (other: bigint) => (bits ^ other).toString(2).replaceAll("0", "").length;
        const within = added.filter((other) => distanceTo(other.bits) <= distance);
        const nearest = within.reduce<(typeof within)[number] | undefined>(
          (best, other) => (best && distanceTo(best.bits) <= distanceTo(other.bits) ? best : other),
          undefined,
        );
        const group = nearest?.group ?? `item ${String(index)}`;
        expect(near.groupOf(bits.toString(16).padStart(BITS / 4, "0"), `item ${String(index)}`)).toBe(group);
        added.push({ bits, group });
      }
      near.free();
    },
  ),
);
