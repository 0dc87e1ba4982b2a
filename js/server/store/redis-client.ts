/** One face for the clients of Redis: those of ioredis and of redis (node-redis), of a single node and of a cluster. */
import { describe, refuse } from "../../errors.js";
import { isFunction } from "../../options.js";
import { StoreFailure } from "./retry.js";
import type { Script } from "./scripts.js";

/** ioredis. */
interface PositionalClient {
  readonly isCluster?: boolean;
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(text: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}
/** node-redis. */
interface NamedClient {
  /** Only of a cluster. */
  readonly slots?: unknown;
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(text: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

export interface ScriptRunner {
  readonly isCluster: boolean;
  /**
   * Whether a script has run whose connection was lost is not known: to read twice, or to replace what was replaced
   * already, does no harm. Rejects with a `StoreFailure`.
   */
  run(script: Script, keys: string[], args: string[]): Promise<unknown>;
}

/**
 * What Redis answers the next time, too. Anything else may pass: a slot that moves, a start, a failover, a connection
 * that was lost.
 */
const LASTING = ["OOM", "WRONGTYPE", "NOPERM", "NOAUTH", "WRONGPASS", "DENIED"];

type Call = (how: "text" | "sha1", which: string, keys: string[], args: string[]) => Promise<unknown>;

/** Recognises a client by its methods. */
export function runnerOf(client: object): ScriptRunner {
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

function runner(isCluster: boolean, call: Call): ScriptRunner {
  const runOnce = async ({ text, sha1 }: Script, keys: string[], args: string[]): Promise<unknown> => {
    try {
      return await call("sha1", await sha1(), keys, args);
    } catch (error) {
      // This node has not met the script yet, or has forgotten it.
      if (codeOf(error) === "NOSCRIPT") return call("text", text, keys, args);
      throw error;
    }
  };
  return {
    isCluster,
    run: (script, keys, args) =>
      runOnce(script, keys, args).catch((error: unknown) => {
        throw new StoreFailure(!LASTING.includes(codeOf(error)), error);
      }),
  };
}

/** What an error of Redis is, by its first word. The words behind it are for people. */
function codeOf(error: unknown): string {
  const [code = ""] = describe(error).split(" ", 1);
  return code;
}

function hasMethod<Client>(client: object, name: keyof Client & string): client is Client & object {
  return isFunction((client as Record<string, unknown> | null)?.[name]);
}
