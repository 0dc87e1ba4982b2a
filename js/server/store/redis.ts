/** `redisStore`: each user's chain as a list in Redis, with two hashes. The module creates the commands. */
import { readGiven, refuse } from "../../errors.js";
import { isWellFormed } from "../../input/ids.js";
import { isObject } from "../../input/options.js";
import type { SeenStore, StoreOptions } from "../../types/server.js";
import { runnerOf, type CommandRunner } from "./redis-client.js";
import type { Performer, Step } from "./performer.js";
import { ChainStore } from "./seen-store.js";

export function redisStore(client: object, options: StoreOptions & { prefix?: string } = {}): SeenStore {
  return readGiven("bad-option", "what redisStore was given", () => {
    if (!isObject(options)) refuse("redisStore takes options");
    const { prefix = "seen:", ...others } = options;
    if (typeof prefix !== "string" || !isWellFormed(prefix)) refuse("prefix must be a text");
    return new ChainStore("redisStore", others, new RedisPerformer(runnerOf(client), prefix));
  });
}

class RedisPerformer implements Performer {
  private readonly runner: CommandRunner;
  readonly keys: { readonly prefix: string; readonly isCluster: boolean };

  constructor(runner: CommandRunner, prefix: string) {
    this.runner = runner;
    this.keys = { prefix, isCluster: runner.isCluster };
  }

  async perform(_user: string, { command }: Pick<Step, "command">): Promise<readonly string[]> {
    return command ? textsOf(await this.runner.run(command)) : [];
  }
}

/** Flattens a response to texts, with the length before those of each list. */
function textsOf(answer: unknown): string[] {
  const parts = Array.isArray(answer) ? (answer as unknown[]) : [answer];
  return parts.flatMap((part) => (Array.isArray(part) ? [part.length, ...(part as unknown[])] : [part])).map(String);
}
