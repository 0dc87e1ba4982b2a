/** One face for the clients of Redis: those of ioredis and of redis (node-redis), of a single node and of a cluster. */
import { refuse } from "../../errors.js";
import { isFunction } from "../../options.js";
import { retry } from "./retry.js";
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
  run(script: Script, keys: string[], args: string[]): Promise<unknown>;
  /** The same of a script that must write: one that a node refuses because it is no master any more is run again. */
  change(script: Script, keys: string[], args: string[]): Promise<unknown>;
}

/**
 * What passes: the keys' slot is on its way to another node; Redis loads what it had before it was started anew; a
 * failover is under way; the connection was lost, and whether the script has run is not known. To read twice, or to
 * replace what was replaced already, does no harm.
 */
const PASSING = /TRYAGAIN|LOADING|MASTERDOWN|CLUSTERDOWN|Socket closed unexpectedly|ECONNRESET|EPIPE/;
/** The same where only a write is refused: for a replica, or for good. */
const NO_MASTER = /READONLY|NOREPLICAS/;

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
      if (says(error, /NOSCRIPT/)) return call("text", text, keys, args);
      throw error;
    }
  };
  const run = async (passing: (error: unknown) => boolean, script: Script, keys: string[], args: string[]) => {
    let refusal: unknown;
    const answer = await retry(async () => {
      try {
        return { value: await runOnce(script, keys, args) };
      } catch (error) {
        if (!passing(error)) throw error;
        refusal = error;
        return undefined;
      }
    });
    if (!answer) throw refusal;
    return answer.value;
  };
  return {
    isCluster,
    run: (script, keys, args) => run((error) => says(error, PASSING), script, keys, args),
    change: (script, keys, args) => run((error) => says(error, PASSING) || says(error, NO_MASTER), script, keys, args),
  };
}

function says(error: unknown, code: RegExp): boolean {
  return error instanceof Error && code.test(`${error.message} ${String((error as { code?: unknown }).code)}`);
}

function hasMethod<Client>(client: object, name: keyof Client & string): client is Client & object {
  return isFunction((client as Record<string, unknown> | null)?.[name]);
}
