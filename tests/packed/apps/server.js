/**
 * The scenario of every server: filters a page by its store, records it, sends the shards, and plans its chains
 * synchronously.
 */

/**
 * @param {object} entries
 * @param {typeof import("seenguard/server").ShardChain} entries.ShardChain
 * @param {typeof import("seenguard/server").plan} entries.plan
 * @param {typeof import("seenguard").SeenGuard} entries.SeenGuard
 * @param {import("seenguard").GuardOptions["fallback"]} [entries.fallback] where no Wasm is compiled
 * @param {import("./scenario.js").Scenario} scenario
 */
export async function serve({ ShardChain, plan, SeenGuard, fallback }, { snapshot, page }) {
  const chain = await ShardChain.from(snapshot);
  const fresh = chain.filter(page).map(({ id }) => id);
  const recorded = chain.record(fresh);
  const shipped = chain.snapshot();
  const { capacity, shards } = plan({ perDay: 150, windowDays: 30, falsePositiveRate: 0.005 });
  const guard = await SeenGuard.open({ namespace: "home:reader", storage: "none", ...(fallback && { fallback }) });
  const { applied } = guard.apply(shipped);
  const left = guard.filter([...page, { id: "another" }]).map(({ id }) => id);
  await guard.close();
  chain.free();
  return { planned: capacity * shards, rejected: chain.rejected, fresh, recorded, applied, left };
}
