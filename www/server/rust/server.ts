/** `seenguard-server` and its consumer, built and run in processes of their own, over the Redis of `redis/store.ts`. */
import { ShardChain } from "seenguard/server";
import { withProgress } from "../../../scripts/lib/progress.mjs";
import { buildService, chainFlags, startService } from "../../../scripts/lib/service.mjs";
import { CHAIN_OPTIONS } from "../chain.ts";
import { reportOf, type SeenEvent } from "../events.ts";
import { IMPRESSIONS } from "../redis/layout.ts";
import type { KnownStore } from "../redis/store.ts";
import { ServiceClient } from "./client.ts";

/** Reads a chain from what the service ships, so that the recommender filters as over the other stores. */
export class ServiceStore extends ServiceClient implements KnownStore {
  async read(user: string): Promise<ShardChain> {
    return ShardChain.from(await this.snapshot(user), CHAIN_OPTIONS);
  }
}

/** The demo's namespace of a user's devices. */
const namespaceOf = (user: string): string => `demo:${user}`;

/** The fields of an entry, as the consumer reads them. */
export const fieldsOf = (user: string, event: SeenEvent) => [
  ...["user", user],
  ...["report", JSON.stringify(reportOf([event], namespaceOf(user)))],
];

export interface RunningRustServer {
  /** The address of the service. */
  readonly url: string;
  readonly stored: KnownStore;
  readonly fieldsOf: (user: string, event: SeenEvent) => readonly string[];
  stop(): Promise<void>;
}

/** What the service and its consumers are started with. */
export function argumentsOf(redisUrl: string): string[] {
  if (CHAIN_OPTIONS.format !== undefined)
    throw new Error("seenguard-server writes native shards: leave SHARD_FORMAT out");
  const namespace = ["--namespace", namespaceOf("{user}")];
  return ["--redis", redisUrl, ...namespace, "--log", "warn", ...chainFlags(CHAIN_OPTIONS)];
}

/** Resolves when the service listens and the consumer reads the stream. */
export async function startRustServer(redisUrl: string, say: (line: string) => void): Promise<RunningRustServer> {
  const args = argumentsOf(redisUrl);
  say("compiling seenguard-server");
  const program = await withProgress("cargo", buildService);
  const service = await startService(program, args);
  const consumer = await startService(program, ["consume", ...args, "--stream", IMPRESSIONS]);
  return {
    url: service.url,
    stored: new ServiceStore(service.url),
    fieldsOf,
    stop: async () => {
      await Promise.all([service.stop(), consumer.stop()]);
    },
  };
}
