/** `redisStore`: each user's chain as a list in Redis, with two hashes. The engine creates the commands. */
import { readGiven, refuse } from "../../errors.js";
import { isWellFormed } from "../../input/ids.js";
import { isObject } from "../../input/options.js";
import type { SeenStore, StoreOptions } from "../../types/server.js";
import { runnerOf, type CommandRunner } from "./redis-client.js";
import type { Performer } from "./performer.js";
import { ChainStore } from "./seen-store.js";

export function redisStore(client: object, options: StoreOptions & { prefix?: string } = {}): SeenStore {
  return readGiven("bad-option", "the arguments of redisStore", () => {
    if (!isObject(options)) refuse("redisStore takes options");
    const { prefix = "seen:", ...others } = options;
    if (typeof prefix !== "string" || !isWellFormed(prefix)) refuse("prefix must be a string");
    return new ChainStore("redisStore", others, redisPerformer(runnerOf(client), prefix));
  });
}

function redisPerformer(runner: CommandRunner, prefix: string): Performer {
  return {
    keys: { prefix, isCluster: runner.isCluster },
    perform: async (_user, { command }) => (command ? stringsOf(await runner.run(command)) : []),
  };
}

/** Flattens a response to strings, with the length before those of each list. */
function stringsOf(response: unknown): string[] {
  const parts = Array.isArray(response) ? (response as unknown[]) : [response];
  return parts.flatMap((part) => (Array.isArray(part) ? [part.length, ...(part as unknown[])] : [part])).map(String);
}
