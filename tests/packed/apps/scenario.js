/**
 * The scenario of every app, however it imports the package: opens a guard, applies a snapshot, filters a page,
 * records what it has shown, filters again.
 */

/**
 * @typedef {object} Scenario
 * @property {import("seenguard").Snapshot} snapshot
 * @property {{ id: string }[]} page
 * @property {string[]} fresh the ids of the page that the snapshot does not contain
 *
 * @typedef {object} Outcome
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
 * It uses nothing outside of itself, so that its source can be sent into a page.
 * @param {{ SeenGuard: Pick<typeof import("seenguard").SeenGuard, "open"> }} entry
 * @param {Scenario} scenario
 * @param {Partial<import("seenguard/slim").GuardOptions>} [options]
 * @returns {Promise<Outcome>}
 */
export async function runScenario({ SeenGuard }, { snapshot, page }, options) {
  /** @type {import("seenguard").ErrorCode[]} */
  const errors = [];
  const guard = await SeenGuard.open({
    namespace: "home:reader",
    onError: (error) => {
      errors.push(error.code);
    },
    ...options,
  });
  const { applied } = guard.apply(snapshot);
  const shown = () => guard.filter(page).map(({ id }) => id);
  const before = shown();
  const unknown = guard.record(before.slice(0, 20));
  const after = shown();
  const { engine, storage } = guard.stats();
  const pending = guard.pending().length;
  await guard.close();
  return { applied, before, unknown, after, pending, engine, storage, errors };
}
