/**
 * What every app does with the package, whichever way it got it: opens a guard, takes a snapshot, filters a page, records what it has shown, filters
 * again.
 */

/**
 * @typedef {object} Chapters
 * @property {import("seenguard").Snapshot} snapshot
 * @property {{ id: string }[]} page
 * @property {string[]} fresh what of the page the snapshot does not hold
 *
 * @typedef {object} Told
 * @property {boolean} applied
 * @property {string[]} before
 * @property {number} unknown
 * @property {string[]} after
 * @property {number} pending
 * @property {import("seenguard").GuardStats["engine"]} engine
 * @property {import("seenguard").GuardStats["storage"]} storage
 * @property {import("seenguard").ErrorCode[]} errors
 */

/**
 * It needs nothing around it, so that it can be sent into a page as text.
 * @param {{ SeenGuard: Pick<typeof import("seenguard/slim").SeenGuard, "open"> }} entry
 * @param {Chapters} chapters
 * @param {Partial<import("seenguard").GuardOptions> & { wasm?: import("seenguard/slim").WasmSource }} [options]
 * @returns {Promise<Told>}
 */
export async function tell({ SeenGuard }, { snapshot, page }, options) {
  /** @type {import("seenguard").ErrorCode[]} */
  const errors = [];
  const guard = await SeenGuard.open({
    namespace: "home:reader",
    onError: (error) => {
      errors.push(error.code);
    },
    ...options,
  });
  const report = guard.apply(snapshot);
  const shown = () => guard.filter(page).map(({ id }) => id);
  const before = shown();
  const unknown = guard.record(before.slice(0, 20));
  const after = shown();
  const { engine, storage } = guard.stats();
  const pending = guard.pending().length;
  await guard.close();
  return { applied: report.applied, before, unknown, after, pending, engine, storage, errors };
}
