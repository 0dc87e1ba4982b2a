/** `redisStore`: each user's chain as a list in Redis, with two hashes. The module creates the commands. */
import { readGiven, refuse } from "../../errors.js";
import type { RedisCommands } from "../../generated/server/seenguard.js";
import { isWellFormed } from "../../input/ids.js";
import { isObject } from "../../input/options.js";
import type { Backend, Loaded, PendingToKeep, Replacement, SeenStore, StoreOptions } from "../../types/server.js";
import { callWith, loadServerEngine } from "../engine.js";
import { runnerOf, type Command, type CommandRunner } from "./redis-client.js";
import { StoreFailure } from "./retry.js";
import { ChainStore } from "./seen-store.js";

export function redisStore(client: object, options: StoreOptions & { prefix?: string } = {}): SeenStore {
  const { prefix, ...others } = readGiven("bad-option", "what redisStore was given", (): typeof options =>
    isObject(options) ? { ...options } : refuse("redisStore takes options"),
  );
  return new ChainStore("redisStore", others, redisBackend(client, prefix === undefined ? {} : { prefix }));
}

export function redisBackend(client: object, options: { prefix?: string } = {}): Backend {
  return readGiven("bad-option", "what redisBackend was given", () => {
    const { prefix = "seen:" } = options;
    if (typeof prefix !== "string" || !isWellFormed(prefix)) refuse("prefix must be a text");
    return new RedisBackend(runnerOf(client), prefix);
  });
}

const STRANGE = "a script answers what it never does: something else is at the address of Redis";

class RedisBackend implements Backend {
  private readonly runner: CommandRunner;
  private readonly prefix: string;
  private commands: RedisCommands | undefined;

  constructor(runner: CommandRunner, prefix: string) {
    this.runner = runner;
    this.prefix = prefix;
  }

  async load(user: string, told?: PendingToKeep): Promise<Loaded> {
    const { text, at = 0, lifeSeconds = 0 } = told ?? {};
    const answer = await this.run((commands) => commands.load(user, text, at, lifeSeconds));
    const engine = await loadServerEngine();
    const read = () => engine.classes.loadedFromRedis(engine.writer.batch) as (Loaded & { kept: string }) | undefined;
    const loaded = callWith(engine, textsOf(answer), read);
    if (!loaded) throw new StoreFailure(false, new Error(STRANGE));
    // If it fails, the next load tries again.
    await this.run((commands) => commands.dropDevices(user, loaded.kept)).catch(() => undefined);
    return loaded;
  }

  async keep(user: string, { text, at, lifeSeconds }: PendingToKeep): Promise<void> {
    await this.run((commands) => commands.keep(user, text, at, lifeSeconds));
  }

  replace(user: string, replacement: Replacement): Promise<boolean> {
    return this.store(user, replacement, false);
  }

  forget(user: string, replacement: Replacement): Promise<boolean> {
    return this.store(user, replacement, true);
  }

  private async store(user: string, replacement: Replacement, forgets: boolean): Promise<boolean> {
    const { revision, before, after, lifeSeconds } = replacement;
    const lists = [before, after].flatMap(({ shards, fields }) => [shards, fields.flat()]);
    const lengths = Uint32Array.from(lists, ({ length }) => length);
    const { writer } = await loadServerEngine();
    const answer = await this.run(
      (commands) => commands.replace(user, writer.batch, lengths, revision, lifeSeconds, forgets),
      lists.flat(),
    );
    return Number(answer) === 1;
  }

  /** Runs the planned command, if there is one, with texts in the engine's batch. */
  private async run(plan: (commands: RedisCommands) => unknown, texts: readonly string[] = []): Promise<unknown> {
    const engine = await loadServerEngine();
    const { prefix, runner } = this;
    const command = callWith(engine, texts, () =>
      plan((this.commands ??= new engine.classes.RedisCommands(prefix, runner.isCluster))),
    );
    return command === undefined ? undefined : runner.run(command as Command);
  }
}

/** Flattens a response to texts, with the length before those of each list. */
function textsOf(answer: unknown): string[] {
  const parts = Array.isArray(answer) ? (answer as unknown[]) : [];
  return parts.flatMap((part) => (Array.isArray(part) ? [part.length, ...(part as unknown[])] : [part])).map(String);
}
