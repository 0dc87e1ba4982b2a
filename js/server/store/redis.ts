/** `redisStore`: each user's chain as a list in Redis, and beside it two hashes. */
import { readGiven, refuse } from "../../errors.js";
import { isWellFormed } from "../../input/ids.js";
import { isObject } from "../../options.js";
import type { SeenStore, StoreOptions } from "../../types/server.js";
import { call, callWith, loadServerEngine } from "../engine.js";
import { isWriteRefused, runnerOf, type ScriptRunner } from "./redis-client.js";
import { KEEP, READ, REPLACE } from "./scripts.js";
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

/** With the name of the state in which it was found. */
interface RedisSeen extends StoredSeen {
  readonly state: string;
}

type Answer = [shards: unknown[], fields: unknown[], state: unknown, kept: unknown[], refused: unknown];

class RedisBackend implements Backend<RedisSeen> {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly prefix: string,
  ) {}

  async read(user: string, asking?: Asking): Promise<ReadSeen<RedisSeen>> {
    const keys = await this.keysOf(user);
    const args = asking ? await argumentsOf(asking) : undefined;
    if (!args) return readSeen(await this.runner.run(READ, keys, []));
    try {
      return readSeen(await this.runner.run(READ, keys, args));
    } catch (refusal) {
      if (!isWriteRefused(refusal)) throw refusal;
      // The script as a whole: without arguments it writes nothing.
      return { ...readSeen(await this.runner.run(READ, keys, [])), refusal };
    }
  }

  async keep(user: string, asking: Asking): Promise<unknown> {
    const [, , pending] = await this.keysOf(user);
    const args = await argumentsOf(asking);
    return args && refusalOf(await this.runner.run(KEEP, [pending], args));
  }

  async replace(user: string, replacement: Replacement<RedisSeen>): Promise<boolean> {
    const { before, after, areFieldsSame, lifeSeconds, forgets } = replacement;
    const { added, first, last } = await changeOf(before.shards, after.shards);
    const [list, meta, pending] = await this.keysOf(user);
    const keys = forgets ? [list, meta, pending] : [list, meta];
    const fields = areFieldsSame ? "" : JSON.stringify(Object.fromEntries(pairsOf(after.fields)));
    const args = [before.state, String(first), String(last), fields, String(lifeSeconds), ...added];
    return Number(await this.runner.change(REPLACE, keys, args)) === 1;
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
  const [shards, fields, state, kept, refused] = answer as Answer;
  return {
    seen: { shards: shards.map(String), fields: fields.map(String), state: String(state) },
    kept: kept.map(String).join("\n"),
    refusal: refusalOf(refused),
  };
}

const refusalOf = (refused: unknown) => (String(refused) === "" ? undefined : refused);

/** A list of names, each followed by its value. */
function pairsOf(list: readonly string[]): [string, string][] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1] ?? ""] as [string, string]] : []));
}
