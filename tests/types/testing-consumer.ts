/** The same for the entry for tests. */
import type { SeenGuard } from "seenguard";
import { openTestGuard } from "seenguard/testing";

export async function useAll(): Promise<SeenGuard> {
  await (await openTestGuard()).close();
  const guard = await openTestGuard({ now: 1_764_000_000_000, windowDays: 7 });
  guard.advance(1000);
  return guard;
}
