/** Leaves out items that another device of the user has shown, before they arrive through the stream. */
import type { ShardChain } from "seenguard/server";
import type { BackEnd } from "./back-end.ts";
import { groupIdOf, type Item } from "./catalogue.ts";

/**
 * The ids of these items that the stored page leaves out for another device alone; degraded if it was not there in
 * time, so that none is left out. It is compared with a page that knows the stream and the asking device, by a chain that
 * was read before the items: what arrives in between is left out, too.
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
  // A copy of such an item, which neither page has in addition to it.
  const elsewhere = items.filter((item) => shown.has(groupIdOf(item))).map(({ id }) => id);
  return { elsewhere, ...(page.degraded && { degraded: true }) };
}
