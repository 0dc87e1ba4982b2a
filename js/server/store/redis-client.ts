/** One interface to Redis clients: ioredis and redis (node-redis), of a single node and of a cluster. */
import { describe, refuse } from "../../errors.js";
import { isFunction } from "../../input/options.js";
import { call as callEngine, serverEngine } from "../engine.js";
import { StoreFailure, type Command } from "./performer.js";

/** ioredis. */
interface PositionalClient {
  readonly isCluster?: boolean;
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(source: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}
/** node-redis. */
interface NamedClient {
  /** Only of a cluster. */
  readonly slots?: unknown;
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(source: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

export interface CommandRunner {
  readonly isCluster: boolean;
  /** Rejects with a `StoreFailure`. */
  run(command: Command): Promise<unknown>;
}

type Call = (how: "source" | "sha1", which: string, keys: string[], args: string[]) => Promise<unknown>;

/** Recognises a client by its methods. */
export function runnerOf(client: object): CommandRunner {
  if (hasMethod<NamedClient>(client, "evalSha")) {
    return runner(client.slots !== undefined, (how, which, keys, args) =>
      how === "sha1" ? client.evalSha(which, { keys, arguments: args }) : client.eval(which, { keys, arguments: args }),
    );
  }
  if (hasMethod<PositionalClient>(client, "evalsha")) {
    return runner(client.isCluster === true, (how, which, keys, args) =>
      how === "sha1"
        ? client.evalsha(which, keys.length, ...keys, ...args)
        : client.eval(which, keys.length, ...keys, ...args),
    );
  }
  return refuse("redisStore takes a client of ioredis or of redis (node-redis): is it awaited?");
}

function runner(isCluster: boolean, call: Call): CommandRunner {
  const runOnce = async ({ script, keys, arguments: args }: Command): Promise<unknown> => {
    try {
      return await call("sha1", await sha1Of(script), keys, args);
    } catch (error) {
      // This node has not loaded the script yet, or has dropped it.
      if (describe(error).startsWith("NOSCRIPT")) return call("source", sourceOf(script), keys, args);
      throw error;
    }
  };
  return {
    isCluster,
    run: (command) =>
      runOnce(command).catch((error: unknown) => {
        throw new StoreFailure(StoreFailure.OF_REDIS, error);
      }),
  };
}

/** The Lua source of a script. */
function sourceOf(script: number): string {
  const engine = serverEngine();
  return callEngine(engine, () => engine.classes.redisScript(script));
}

const hashes: Promise<string>[] = [];

/** The hash by which Redis identifies a script. */
function sha1Of(script: number): Promise<string> {
  return (hashes[script] ??= hexSha1(sourceOf(script)));
}

async function hexSha1(source: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(source));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function hasMethod<Client>(client: object, name: keyof Client & string): client is Client & object {
  return isFunction((client as Record<string, unknown> | null)?.[name]);
}
