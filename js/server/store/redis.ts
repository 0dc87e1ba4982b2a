/** `redisStore`: each user's chain as a list in Redis, and beside it two hashes. */
import { readGiven, refuse } from "../../errors.js";
import { isWellFormed } from "../../input/ids.js";
import { isObject } from "../../options.js";
import type { SeenStore, StoreOptions } from "../../types/server.js";
import { call, callWith, loadServerEngine } from "../engine.js";
import { runnerOf, type ScriptRunner } from "./redis-client.js";
import { KEEP, LOAD, REPLACE } from "./scripts.js";
import { ChainStore, type Asking, type Backend, type Replacement } from "./seen-store.js";
import type { ReadSeen, StoredSeen } from "./stored-seen.js";

export function redisStore(client: object, options: StoreOptions & { prefix?: string } = {}): SeenStore {
  const { prefix, others, runner } = readGiven("bad-option", "what redisStore was given", () => {
    const { prefix = "seen:", ...others } = isObject(options) ? options : refuse("redisStore takes options");
    if (typeof prefix !== "string" || !isWellFormed(prefix)) refuse("prefix must be a text");
    return { prefix, others, runner: runnerOf(client) };
  });
  return new ChainStore("redisStore", others, new RedisBackend(runner, prefix));
}

/** With its revision. */
interface RedisSeen extends StoredSeen {
  readonly revision: string;
}

type Answer = [shards: unknown[], fields: unknown[], revision: unknown, kept: unknown[], refused: unknown];

/** The field of the hash that has the revision. */
const REVISION = "revision";

class RedisBackend implements Backend<RedisSeen> {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly prefix: string,
  ) {}

  async read(user: string, asking?: Asking): Promise<ReadSeen<RedisSeen>> {
    const keys = await this.keysOf(user);
    const args = asking ? await argumentsOf(asking) : undefined;
    return readSeen(await this.runner.run(LOAD, keys, args ?? []));
  }

  async keep(user: string, asking: Asking): Promise<void> {
    const [, , pending] = await this.keysOf(user);
    const args = await argumentsOf(asking);
    if (args) await this.runner.run(KEEP, [pending], args);
  }

  async replace(user: string, replacement: Replacement<RedisSeen>): Promise<boolean> {
    const { before, after, lifeSeconds, forgets } = replacement;
    const { added, first, last } = await changeOf(before.shards, after.shards);
    const [list, meta, pending] = await this.keysOf(user);
    const keys = forgets ? [list, meta, pending] : [list, meta];
    const fields = changedFields(before.fields, after.fields);
    const args = [before.revision, String(first), String(last), fields, String(lifeSeconds), ...added];
    return Number(await this.runner.run(REPLACE, keys, args)) === 1;
  }

  private async keysOf(user: string): Promise<[list: string, meta: string, pending: string]> {
    const engine = await loadServerEngine();
    const { prefix, runner } = this;
    return call(engine, () => engine.classes.storeKeys(prefix, user, runner.isCluster) as [string, string, string]);
  }
}

/** The arguments by which a script keeps what a device has pending; `undefined` if that is nothing to keep. */
async function argumentsOf({ pending, namespace, now, pendingSeconds }: Asking): Promise<string[] | undefined> {
  const engine = await loadServerEngine();
  const toKeep = () => engine.classes.pendingToKeep(pending, namespace, now, pendingSeconds) as string[] | undefined;
  return call(engine, toKeep);
}

/** How to make one list of another: which of its elements stay, and what comes before, the oldest first. */
async function changeOf(before: readonly string[], after: readonly string[]) {
  const engine = await loadServerEngine();
  const { batch } = engine.writer;
  const change = () => engine.classes.listChange(batch, before.length);
  const [added = 0, first = 0, kept = 0] = callWith(engine, [...before, ...after], change);
  return { added: after.slice(0, added).reverse(), first, last: first + kept - 1 };
}

function readSeen(answer: unknown): ReadSeen<RedisSeen> {
  const [shards, fields, revision, kept, refused] = answer as Answer;
  const others = pairsOf(fields.map(String)).filter(([name]) => name !== REVISION);
  return {
    seen: { shards: shards.map(String), fields: others.flat(), revision: String(revision) },
    kept: kept.map(String).join("\n"),
    refusal: String(refused) === "" ? undefined : refused,
  };
}

/** JSON of the fields that are to be others: of each its value, or false if it goes; an empty text for none. */
function changedFields(before: readonly string[], after: readonly string[]): string {
  const [known, wanted] = [new Map(pairsOf(before)), new Map(pairsOf(after))];
  const gone = [...known.keys()].filter((name) => !wanted.has(name)).map((name) => [name, false] as const);
  const other = [...wanted].filter(([name, value]) => known.get(name) !== value);
  const changes = [...gone, ...other];
  return changes.length === 0 ? "" : JSON.stringify(Object.fromEntries(changes));
}

/** A list of names, each followed by its value. */
function pairsOf(list: readonly string[]): [string, string][] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1] ?? ""] as [string, string]] : []));
}
