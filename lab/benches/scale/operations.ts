/**
 * The costs of a server's operations: processor time of the Node process and of Redis, and bytes between them.
 * Processor times are affected less by other work on the machine than wall-clock times.
 */
import { SeenGuard } from "seenguard";
import { redisStore, type SeenStore } from "seenguard/server";
import { candidatesOf, randomBelow, shortIds } from "../ids.ts";
import { idsOfDay, type Sizes } from "./chains.ts";
import { nameOfUser } from "./memory.ts";
import { infoOf, mainThreadSeconds, numberIn, type Master } from "./redis.ts";

/** The mean costs of one operation. */
export interface Cost {
  readonly name: string;
  readonly nodeMicroseconds: number;
  readonly redisMicroseconds: number;
  /** The bytes from Node to Redis, and back. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** The bytes to each replica: the operation's writes as commands. */
  readonly bytesReplicated: number;
}

/** The concurrent operations over one connection, as in a server. */
const LANES = 16;
const CANDIDATES = 2000;
/** The users who send requests, with devices that have their shards. */
const DEVICES = 50;

/** Measures each operation `times` times on users whose chains are in Redis, with a replica. */
export async function measureOperations(
  master: Master,
  sizes: Sizes,
  { users, times }: { users: number; times: number },
  print: (line: string) => void,
): Promise<Cost[]> {
  const store = redisStore(master.cluster, sizes);
  const below = randomBelow(1);
  const anyone = () => nameOfUser(below(users));
  const costs: Cost[] = [];
  const measure = async (name: string, operation: () => Promise<void>) => {
    print(`operations: ${name}`);
    costs.push(await costOf(master, name, times, operation));
  };
  for (const batch of [10, 50]) {
    let next = 0;
    const ids = () => Array.from({ length: batch }, () => `${String(batch)}-${String(next++)}`.padStart(14, "0"));
    await measure(`\`update\` of ${String(batch)}`, () => record(store, anyone(), ids()));
  }
  const devices = await openDevices(store);
  const anyDevice = () => devices[below(devices.length)] ?? refuse();
  await measure(`\`read\`, \`filter\` of ${CANDIDATES.toLocaleString("en")}, \`snapshot\``, () =>
    answerPage(store, anyDevice()),
  );
  return costs;
}

/** Records ids as a consumer that applies a report. */
async function record(store: SeenStore, user: string, ids: readonly string[]): Promise<void> {
  const now = Date.now();
  const impressions = ids.map((id) => ({ id, at: now - 1000 }));
  await store.ingest(user, { namespace: user, receivedAt: now, impressions, unseen: [] });
}

interface Device {
  readonly user: string;
  readonly held: string;
  readonly candidates: readonly { readonly id: string }[];
}

/** Opens devices that have all shards but the newest, which has changed since. */
async function openDevices(store: SeenStore): Promise<Device[]> {
  const devices: Device[] = [];
  for (let user = 0; user < DEVICES; user++) {
    const guard = await SeenGuard.open({ namespace: nameOfUser(user), storage: "none" });
    const chain = await store.read(nameOfUser(user));
    guard.apply(chain.snapshot());
    chain.free();
    await record(store, nameOfUser(user), shortIds(10, user));
    // A quarter of the candidates was seen.
    const seen = Array.from({ length: 5 }, (_, day) => idsOfDay(user, day + 1)).flat();
    const ids = candidatesOf(seen, CANDIDATES, shortIds, 7 + user);
    devices.push({
      user: nameOfUser(user),
      held: guard.headers()["Seen-Held"] ?? "",
      candidates: ids.map((id) => ({ id })),
    });
    await guard.close();
  }
  return devices;
}

async function answerPage(store: SeenStore, { user, held, candidates }: Device): Promise<void> {
  const chain = await store.read(user);
  const fresh = chain.filter(candidates);
  const seen = JSON.stringify(chain.snapshot({ held }));
  chain.free();
  if (fresh.length < CANDIDATES / 2 || fresh.length > CANDIDATES * 0.8 || !seen.includes("~")) {
    throw new Error(`a page of ${String(fresh.length)} fresh candidates is not the expected one`);
  }
}

function refuse(): never {
  throw new Error("there is no such device");
}

async function costOf({ node }: Master, name: string, times: number, operation: () => Promise<void>): Promise<Cost> {
  await inLanes(Math.ceil(times / 10), operation); // warm
  const before = await infoOf(node);
  const cpu = process.cpuUsage();
  await inLanes(times, operation);
  const { user, system } = process.cpuUsage(cpu);
  const after = await infoOf(node);
  const perOperation = (counter: string) => (numberIn(after, counter) - numberIn(before, counter)) / times;
  return {
    name,
    nodeMicroseconds: (user + system) / times,
    redisMicroseconds: ((mainThreadSeconds(after) - mainThreadSeconds(before)) * 1e6) / times,
    bytesIn: perOperation("total_net_input_bytes"),
    // The total includes the bytes to replicas.
    bytesOut: perOperation("total_net_output_bytes") - perOperation("total_net_repl_output_bytes"),
    bytesReplicated: perOperation("master_repl_offset"),
  };
}

async function inLanes(times: number, operation: () => Promise<void>): Promise<void> {
  let left = times;
  const lane = async () => {
    while (left-- > 0) await operation();
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
