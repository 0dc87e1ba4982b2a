/**
 * One start from nothing, in a process or a page that has not seen the package before: plain JavaScript, since Node and Chromium load this very file.
 * Times are milliseconds.
 */

/**
 * From the import to the first filtered page.
 * @param {string} entry the package's entry, as an address
 * @param {string} message what the server sent: a snapshot as JSON
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
    apply: taken - opened,
    filter: filtered - taken,
    all: filtered - begun,
  };
}

/**
 * The same for a Set of the ids.
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
