/**
 * Connections to Redis, with the demo's own script known to them.
 *
 * A connection that breaks is opened again for as long as it takes. Meanwhile its commands fail at once instead of
 * piling up: a request is answered with an error that says so, and the consumer waits.
 */
import { readFileSync } from "node:fs";
import { Redis, type ChainableCommander } from "ioredis";
import { SeenGuardError } from "seenguard/server";
import { Refused } from "../rust/client.ts";
import { StoreUnavailable } from "../store.ts";

/** A connection that knows `carry.lua`, which returns what its first lines say. */
export interface ScriptedRedis extends Redis {
  carry(
    underWay: string,
    control: string,
    stream: string,
    people: string,
    ...args: (string | number)[]
  ): Promise<number>;
}

const scripts = {
  carry: { lua: readFileSync(new URL("carry.lua", import.meta.url), "utf8"), numberOfKeys: 4 },
};

/** Opens a connection; `report` hears once of each time that it is lost or cannot be had. */
export function connect(url: string, report: (what: string) => void): ScriptedRedis {
  const redis = new Redis(url, {
    scripts,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 5000,
    retryStrategy: (times) => Math.min(100 * times, 2000),
    lazyConnect: true,
  });
  let lost = false;
  redis.on("error", (error: Error) => {
    if (lost) return;
    lost = true;
    report(`Redis cannot be reached (${error.message || error.name}); trying again until it can`);
  });
  redis.on("ready", () => {
    if (lost) report("Redis can be reached again");
    lost = false;
  });
  redis.connect().catch(() => undefined); // reported above, and tried again
  return redis as ScriptedRedis;
}

/**
 * What a command that found no connection rejects with. Answers of Redis itself are `ReplyError`s, which a `SeenStore` has
 * as the cause of its own; a report that is none, or too large, is its device's fault.
 */
export function asUnavailable(error: unknown): Error {
  const isOfStore = error instanceof SeenGuardError && error.code === "storage";
  const given = isOfStore ? error.cause : error;
  const reason = given instanceof Error ? given : new Error(String(given));
  if (reason instanceof SeenGuardError) return reason;
  if (reason instanceof Refused && reason.statusCode < 500) return reason;
  if (reason.name === "ReplyError" && !/^(LOADING|READONLY|MASTERDOWN|OOM|MISCONF)\b/.test(reason.message))
    return reason;
  return new StoreUnavailable(reason.message);
}

/** Carries out the commands of a MULTI; rejects if one of them failed, which `exec` alone does not. */
export async function carryOut(commands: ChainableCommander): Promise<void> {
  for (const [error] of (await commands.exec()) ?? []) if (error !== null) throw error;
}
