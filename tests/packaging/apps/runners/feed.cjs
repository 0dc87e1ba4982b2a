/** What an app's test in a simulated document does with the package. */
const { snapshot, page, fresh } = require("../scenario.json");

/**
 * @param {typeof import("seenguard")} seenguard
 * @param {{ ShardChain: typeof import("seenguard/server").ShardChain }} server
 */
exports.guardFeed = async ({ SeenGuard, SeenGuardError }, { ShardChain }) => {
  const errors = [];
  const guard = await SeenGuard.open({ namespace: "home:reader", onError: (error) => errors.push(error.message) });
  expect(guard.apply(snapshot).applied).toBe(true);
  expect(guard.filter(page).map(({ id }) => id)).toEqual(fresh);
  expect(guard.record(["a", "ä", "🦀"])).toBe(3);
  expect(guard.filter(["a", "ä", "🦀", "new"])).toEqual(["new"]);
  const list = document.createElement("ol");
  list.innerHTML = '<li data-seen-id="b">B</li>';
  document.body.append(list);
  const stop = guard.observe(list);
  const feed = guard.feed({ key: "main" });
  expect(feed.filter(["a", "new"])).toEqual(["new"]);
  await guard.flush();
  expect(guard.stats()).toMatchObject({ engine: "wasm", storage: "local", pending: 3 });
  stop();
  await guard.close();
  const again = await SeenGuard.open({ namespace: "home:reader" });
  expect(again.pending()).toEqual(["a", "ä", "🦀"]);
  await again.close();
  expect(errors).toEqual([]);
  await expect(SeenGuard.open({})).rejects.toBeInstanceOf(SeenGuardError);

  const chain = await ShardChain.from(snapshot);
  expect(chain.filter(page).map(({ id }) => id)).toEqual(fresh);
  chain.free();
};
