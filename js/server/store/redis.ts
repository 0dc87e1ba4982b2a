/** `redisStore`: each user's chain as a list in Redis, and beside it a hash. */
import { readGiven, refuse } from "../../errors.js";
import { isObject } from "../../options.js";
import type { ChainOptions, SeenStore } from "../../types/server.js";
import type { ChainSettings } from "../chain-options.js";
import { runnerOf, type ScriptRunner } from "./redis-client.js";
import { READ, REPLACE } from "./scripts.js";
import { ChainStore, type Backend } from "./seen-store.js";
import { fieldsOf, fromFields, jsonOf, type Field, type StoredSeen } from "./stored-seen.js";

const META = ":meta";

export function redisStore(client: object, options: ChainOptions & { prefix?: string } = {}): SeenStore {
  const { prefix, chainOptions, runner } = readGiven("bad-option", "what redisStore was given", () => {
    const { prefix = "seen:", ...chainOptions } = isObject(options) ? options : refuse("redisStore takes options");
    if (typeof prefix !== "string") refuse("prefix must be a text");
    return { prefix, chainOptions, runner: runnerOf(client) };
  });
  const keysOf = (user: string): string[] => {
    // One user's list would be another one's hash.
    if (user.endsWith(META)) refuse(`a user's name must not end in ${META}`);
    const list = prefix + (runner.isCluster ? `{${user}}` : user);
    return [list, list + META];
  };
  return new ChainStore(chainOptions, (settings) => new RedisBackend(runner, keysOf, longestLife(settings)));
}

/** No shard answers for more seconds than these after the last change; 0: for ever. */
const longestLife = ({ ttlSeconds, shards }: ChainSettings): number =>
  Math.ceil(ttlSeconds * (1 + 1 / Math.max(1, shards - 1)));

/** With the hash as it was found, whatever was in it. */
interface RedisSeen extends StoredSeen {
  readonly fields: string;
}

class RedisBackend implements Backend<RedisSeen> {
  private readonly runner: ScriptRunner;
  private readonly keysOf: (user: string) => string[];
  private readonly expiresAfterSeconds: number;

  constructor(runner: ScriptRunner, keysOf: (user: string) => string[], expiresAfterSeconds: number) {
    this.runner = runner;
    this.keysOf = keysOf;
    this.expiresAfterSeconds = expiresAfterSeconds;
  }

  async read(user: string): Promise<RedisSeen> {
    const [shards, hash] = (await this.runner.run(READ, this.keysOf(user), [])) as [unknown[], unknown[]];
    const fields = hash.flatMap((name, index): Field[] =>
      index % 2 === 0 ? [[String(name), String(hash[index + 1])]] : [],
    );
    return { shards: shards.map(String), ...fromFields(fields), fields: jsonOf(fields) };
  }

  async replace(user: string, before: RedisSeen, after: StoredSeen): Promise<boolean> {
    const { added, first, last } = difference(before.shards, after.shards);
    const newFields = fieldsOf(after);
    const args = [
      String(before.shards.length),
      before.shards[0] ?? "",
      before.fields,
      String(first),
      String(last),
      newFields === before.fields ? "" : newFields,
      String(this.expiresAfterSeconds),
      ...added.reverse(),
    ];
    return Number(await this.runner.run(REPLACE, this.keysOf(user), args)) === 1;
  }
}

/** How to make one list of another: which of its elements stay, from the first to the last, and what comes before. */
function difference(before: readonly string[], after: readonly string[]) {
  for (let added = 0; added < after.length; added++) {
    const rest = after.slice(added);
    const first = before.indexOf(after[added] ?? "");
    if (first >= 0 && rest.every((shard, index) => shard === before[first + index]))
      return { added: after.slice(0, added), first, last: first + rest.length - 1 };
  }
  // From the second to the first: none.
  return { added: [...after], first: 1, last: 0 };
}
