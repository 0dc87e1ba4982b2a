/**
 * An app's use of the package's types; compiled with each module resolution of TypeScript, and never run.
 */
import { SeenGuard, SeenGuardError, type Feed, type GuardOptions, type Snapshot } from "seenguard";
import type { SeenGuardPanel } from "seenguard/devtools";
import { SeenGuard as FormatsGuard } from "seenguard/formats";
import { NearDuplicates } from "seenguard/near-duplicates";
import { ShardChain, SeenGuardError as ServerError } from "seenguard/server";
import { SeenGuard as SlimGuard, type ApplyResult } from "seenguard/slim";

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

export async function slimPage(wasm: ArrayBuffer, shards: readonly string[]): Promise<ApplyResult> {
  const guard = await SlimGuard.open({ ...options, wasm });
  // All entries share their types.
  const whole: SeenGuard = guard;
  return whole.apply((await ShardChain.from(shards)).snapshot());
}

export async function pageOfAnotherLibrary(shards: readonly string[], seen: Snapshot): Promise<Snapshot> {
  const guard: SeenGuard = await FormatsGuard.open(options);
  guard.apply(seen);
  return (await ShardChain.from(shards, { format: { kind: "go-bloomfilter" } })).snapshot();
}

export const group = async (fingerprint: string): Promise<string> =>
  (await NearDuplicates.create()).groupOf(fingerprint, "first");

export const serve = async (ids: readonly string[]): Promise<Snapshot> =>
  (await ShardChain.from([])).snapshot({ now: ids.length });

export const isSeenGuardError = (error: unknown): boolean =>
  (error instanceof SeenGuardError || error instanceof ServerError) && error.code === "bad-option";

export const show = (panel: SeenGuardPanel, guard: SeenGuard): void => {
  panel.guard = guard;
};

// @ts-expect-error a namespace is required; without the package's types this would not be an error
void SeenGuard.open({});
// @ts-expect-error and the same for the other entries
void FormatsGuard.open({});
// @ts-expect-error and the next one
void SlimGuard.open({ wasm: new ArrayBuffer(8) });
// @ts-expect-error times are options
export const held = (chain: ShardChain): boolean => chain.has("a", 1_764_000_000);
