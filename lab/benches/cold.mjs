/**
 * One cold start, in a process or a page without the package. Plain JavaScript, since Node and Chromium load this file
 * unbundled. Times are milliseconds.
 */

/**
 * Measures from the import to the first filtered page.
 * @param {string} entry the package's entry, as an address
 * @param {string} message the server's snapshot as JSON
 * @param {string} ids the first page's ids as JSON
 * @param {"none" | undefined} storage
 * @returns {Promise<Record<string, number>>}
 */
export async function startGuard(entry, message, ids, storage) {
  const begun = performance.now();
  const { SeenGuard } = /** @type {typeof import("seenguard")} */ (await import(/* @vite-ignore */ entry));
  const imported = performance.now();
  const guard = await SeenGuard.open({ namespace: "bench:cold", ...(storage === undefined ? {} : { storage }) });
  const opened = performance.now();
  /** @type {import("seenguard").Snapshot} */
  const snapshot = JSON.parse(message);
  const { applied } = guard.apply(snapshot);
  const taken = performance.now();
  /** @type {string[]} */
  const page = JSON.parse(ids);
  const fresh = guard.filter(page);
  const filtered = performance.now();
  if (!applied || fresh.length === 0 || guard.stats().engine !== "wasm") throw new Error("the guard did not start");
  return {
    import: imported - begun,
    open: opened - imported,
    ready: opened - begun,
    apply: taken - opened,
    filter: filtered - taken,
    all: filtered - begun,
  };
}

/**
 * Stores impressions that a snapshot covers, as after a visit.
 * @param {string} entry
 * @param {string} message a snapshot that contains all ids, as JSON
 * @param {string} ids as JSON
 */
export async function storeImpressions(entry, message, ids) {
  const guard = await openIn(entry, "bench:full");
  /** @type {string[]} */
  const all = JSON.parse(ids);
  // In pages of a feed.
  for (let first = 0; first < all.length; first += 20) {
    guard.record(all.slice(first, first + 20));
    await guard.flush();
  }
  /** @type {import("seenguard").Snapshot} */
  const snapshot = JSON.parse(message);
  guard.apply(snapshot);
  guard.apply({ shards: [] });
  await guard.close();
}

/**
 * Stores impressions of which the latest 5,000 are pending.
 * @param {string} entry
 * @param {string} namespace
 * @param {string} ids as JSON
 */
export async function storePending(entry, namespace, ids) {
  const guard = await openIn(entry, namespace);
  /** @type {string[]} */
  const all = JSON.parse(ids);
  guard.record(all);
  await guard.flush();
  await guard.close();
}

/**
 * Measures the longest task of a page with these impressions: the time between two turns of the event loop.
 * @param {string} entry
 * @param {string} namespace
 * @param {string} message
 * @param {string} ids
 * @returns {Promise<Record<string, number>>}
 */
export async function longestTask(entry, namespace, message, ids) {
  /** @type {import("seenguard").Snapshot} */
  const snapshot = JSON.parse(message);
  /** @type {string[]} */
  const all = JSON.parse(ids);
  const stopWatching = watchTurns();
  const guard = await openIn(entry, namespace);
  const { remembered, pending } = guard.stats();
  if (remembered < all.length || pending < 4_500) throw new Error(`${String(pending)} are pending`);
  const calls = [
    () => guard.filter(all.slice(0, 2_000)),
    () => guard.headers(),
    () => guard.record("one more"),
    () => guard.flush(),
    () => guard.apply(snapshot),
    () => guard.apply({ shards: [] }),
    () => dispatchEvent(new Event("pagehide")),
  ];
  for (const call of calls) {
    await call();
    await nextTurn();
  }
  const task = stopWatching();
  await guard.close();
  return { task };
}

const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 50));

/** Runs turns of the event loop. Returns a function that stops it and returns the longest time between two turns. */
function watchTurns() {
  const { port1, port2 } = new MessageChannel();
  let longest = 0;
  let latest = performance.now();
  port1.onmessage = () => {
    const now = performance.now();
    longest = Math.max(longest, now - latest);
    latest = now;
    port2.postMessage(undefined);
  };
  port2.postMessage(undefined);
  return () => {
    port1.close();
    return longest;
  };
}

/**
 * Measures opening a namespace without impressions and one with them, on a page that has loaded the module.
 * @param {string} entry
 * @param {number} count the number of stored impressions
 * @param {boolean} fullFirst
 * @returns {Promise<Record<string, number>>}
 */
export async function openBoth(entry, count, fullFirst) {
  await openIn(entry, "bench:warm");
  /** @type {Record<string, number>} */
  const steps = {};
  for (const name of fullFirst ? ["full", "none"] : ["none", "full"]) {
    const begun = performance.now();
    const guard = await openIn(entry, `bench:${name}`);
    steps[name] = performance.now() - begun;
    const { remembered } = guard.stats();
    if (remembered !== (name === "full" ? count : 0)) throw new Error(`${String(remembered)} are remembered`);
    await guard.close();
  }
  return { ...steps, more: (steps.full ?? NaN) - (steps.none ?? NaN) };
}

/**
 * @param {string} entry
 * @param {string} namespace
 */
async function openIn(entry, namespace) {
  const { SeenGuard } = /** @type {typeof import("seenguard")} */ (await import(/* @vite-ignore */ entry));
  return SeenGuard.open({ namespace });
}

/**
 * Measures the minimum of any start: importing an empty module, and opening an IndexedDB.
 * @param {string} entry the module's address
 * @returns {Promise<Record<string, number>>}
 */
export async function startNothing(entry) {
  const begun = performance.now();
  await import(/* @vite-ignore */ entry);
  await new Promise((resolve, reject) => {
    const request = indexedDB.open("nothing");
    request.onupgradeneeded = () => request.result.createObjectStore("nothing");
    request.onsuccess = resolve;
    request.onerror = reject;
  });
  return { ready: performance.now() - begun };
}

/**
 * Measures the start of a Set of the ids.
 * @param {string} message the ids that were seen, as JSON
 * @param {string} ids the first page's ids as JSON
 * @returns {Record<string, number>}
 */
export function startSet(message, ids) {
  const begun = performance.now();
  /** @type {string[]} */
  const list = JSON.parse(message);
  const seen = new Set(list);
  const built = performance.now();
  /** @type {string[]} */
  const page = JSON.parse(ids);
  const fresh = page.filter((id) => !seen.has(id));
  const filtered = performance.now();
  if (fresh.length === 0) throw new Error("nothing was fresh");
  return { build: built - begun, filter: filtered - built, all: filtered - begun };
}
