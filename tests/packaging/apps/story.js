/**
 * What every app does with the package, whichever way it got it: opens a guard, takes a snapshot, filters a page, records what it has shown, filters
 * again. A function that needs nothing around it, so that it can be sent into a page as text.
 */
export async function tell({ SeenGuard }, { snapshot, page }, options) {
  const errors = [];
  const onError = (error) => errors.push(error.code);
  const guard = await SeenGuard.open({ namespace: "home:reader", onError, ...options });
  const report = guard.apply(snapshot);
  const idsOf = (items) => items.map(({ id }) => id);
  const before = idsOf(guard.filter(page));
  const unknown = guard.record(before.slice(0, 20));
  const after = idsOf(guard.filter(page));
  const { engine, storage } = guard.stats();
  const pending = guard.pending().length;
  await guard.close();
  return { applied: report.applied, before, unknown, after, pending, engine, storage, errors };
}
