/** What both servers are started with: the chains of docs/scale.md's example. */
import { recommended } from "../scale/chains.ts";

export const storeOptions = recommended;
export const namespaceOf = (user: string): string => `home:${user}`;

/** The same as flags of the service. */
export function serviceFlags(): string[] {
  const { capacity, shards, falsePositiveRate, ttlSeconds } = storeOptions;
  const flags = { capacity, shards, "false-positive-rate": falsePositiveRate, "ttl-seconds": ttlSeconds };
  const chain = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return [...chain, "--namespace", namespaceOf("{user}"), "--log", "warn"];
}
