/** The same for the server's entry. It compiles without the DOM's types. */
import {
  SeenGuardError,
  ShardChain,
  type ChainOptions,
  type ErrorCode,
  type IdOf,
  type ItemId,
  type Report,
  type ShardFormat,
  type Snapshot,
} from "seenguard/server";

interface Post {
  readonly key: number;
}

const ids: readonly ItemId[] = ["a", 1, 2n];
const posts: readonly Post[] = [{ key: 1 }];
const identified: readonly { readonly id: string }[] = [{ id: "a" }];
const keyOf: IdOf<Post> = ({ key }) => key;
const format: ShardFormat = "seenguard";
const now = 1_764_000_000;

export async function serve(stored: readonly string[]): Promise<Snapshot> {
  const options: ChainOptions = {
    capacity: 1000,
    shards: 5,
    falsePositiveRate: 0.001,
    seed: 0n,
    ttlSeconds: 86_400,
    format,
  };
  const chain: ShardChain = await ShardChain.from(stored, options);
  const rejected: readonly { index: number; code: ErrorCode }[] = chain.rejected;
  const codes = chain.rejected.map(({ index, code }) => `${index.toFixed()}: ${code satisfies ErrorCode}`);
  const unknown: number = chain.record(ids, { now }) + chain.record("a");
  const seen: boolean = chain.has(1, { now }) || chain.has("a");
  const fresh: Post[] = chain.filter(posts, { id: keyOf, now });
  const freshIds: ItemId[] = chain.filter(ids, { now });
  const freshItems: { readonly id: string }[] = chain.filter(identified);
  const [splitIds, splitPosts] = [chain.split(ids, { now }), chain.split(posts, { id: keyOf, now })];
  const allIds: ItemId[] = splitIds.fresh.concat(splitIds.seen);
  const allPosts: Post[] = splitPosts.fresh.concat(splitPosts.seen);
  if (
    seen ||
    allIds.length + allPosts.length > 0 ||
    codes.length + rejected.length + unknown + fresh.length + freshIds.length + freshItems.length > 0
  )
    chain.free();

  const impressions = [{ id: "a", at: now * 1000 }];
  const report: Report = { namespace: "home:1", now: now * 1000, impressions, unseen: impressions };
  const taken: number = chain.take(report, { now }) + chain.take({ ...report, impressions: [] });
  chain.unsee(ids, { now });
  chain.unsee("a");
  chain.forget(taken > 0 ? { now } : undefined);

  const shards: string[] = chain.snapshot({ now, held: "0123456789ab" }).shards;
  const go = await ShardChain.from(shards, { format: { kind: "go-bloomfilter" } });
  const again = await ShardChain.from(go.snapshot());
  again.free();
  return (await ShardChain.create()).snapshot();
}

export function isOurs(error: unknown): error is SeenGuardError {
  return error instanceof SeenGuardError && error.code === "bad-option";
}
