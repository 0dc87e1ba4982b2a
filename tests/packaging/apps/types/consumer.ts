/** What an app's TypeScript sees of the package; compiled by each way that TypeScript has of finding it, and never run. */
import { SeenGuard, SeenGuardError, type Feed, type GuardOptions, type Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { SeenGuard as FormatsGuard, ShardChain as FormatsChain } from "seenguard/formats";
import { SeenGuard as SlimGuard, ShardChain as SlimChain, type ApplyReport } from "seenguard/slim";

interface Post {
  readonly id: string;
  readonly title: string;
}

const options: GuardOptions = { namespace: "home:1", storage: "none", onError: (error) => error.code satisfies string };

export async function firstPage(posts: readonly Post[], seen: Snapshot): Promise<Post[]> {
  const guard: SeenGuard = await SeenGuard.open(options);
  guard.apply(seen);
  const feed: Feed = guard.feed();
  return feed.filter(posts);
}

export async function slimPage(posts: readonly Post[], wasm: ArrayBuffer): Promise<ApplyReport> {
  const guard = await SlimGuard.open({ ...options, wasm });
  const chain = await SlimChain.create({ wasm });
  chain.record(posts.map(({ id }) => id));
  // Both entries speak of the same types.
  const whole: SeenGuard = guard;
  return whole.apply(chain.snapshot());
}

export async function pageOfAnotherLibrary(shards: readonly string[], seen: Snapshot): Promise<Snapshot> {
  const guard: SeenGuard = await FormatsGuard.open(options);
  guard.apply(seen);
  return (await FormatsChain.from(shards, { format: { kind: "go-bloomfilter" } })).snapshot();
}

export const serve = async (ids: readonly string[]): Promise<Snapshot> =>
  (await ShardChain.from([])).snapshot({ now: ids.length });

export const isOurs = (error: unknown): boolean => error instanceof SeenGuardError && error.code === "bad-option";

// @ts-expect-error a namespace there must be; had the package no types, this would be no error
void SeenGuard.open({});
// @ts-expect-error and the same for the other entries
void FormatsGuard.open({});
// @ts-expect-error and the last of them
void SlimGuard.open({ wasm: new ArrayBuffer(8) });
