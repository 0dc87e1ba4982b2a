/** Leaves out items that another device of the user has shown, before they arrive through the stream. */
import type { ShardChain } from "seenguard/server";
import type { BackEnd } from "./back-end.ts";
import { groupIdOf, type Item } from "./catalogue.ts";

/**
 * The ids of these items that the stored page leaves out only because of another device; degraded if the store did not
 * respond in time, so that none is left out. It is compared with a page by the chain and the requesting device alone, with
 * a chain that was read before the items: items that arrive in between are left out, too.
 */
export async function shownElsewhere(
  backEnd: BackEnd,
  before: ShardChain,
  user: string,
  items: readonly Item[],
  pending: string | undefined,
): Promise<{ elsewhere: string[]; degraded?: true }> {
  const alone = before.filter(items, { id: groupIdOf, pending });
  const page = await backEnd.page(user, items, { size: Math.max(1, items.length), pending });
  const fresh = new Set(page.items);
  const shown = new Set(alone.filter((item) => !fresh.has(item)).map(groupIdOf));
  // Also the copies of such items, which neither page contains next to them.
  const elsewhere = items.filter((item) => shown.has(groupIdOf(item))).map(({ id }) => id);
  return { elsewhere, ...(page.degraded && { degraded: true }) };
}
