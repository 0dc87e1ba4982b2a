/** The audit: whether the users' chains contain all acknowledged ids. */
import { ShardChain, type Snapshot } from "seenguard/server";

const AT_ONCE = 20;

/**
 * Returns the acknowledged ids that no chain contains, as `user id`. A false positive of a chain hides a lost id.
 */
export async function lostIds(
  acknowledged: ReadonlyMap<string, ReadonlySet<string>>,
  snapshotOf: (user: string) => Promise<Snapshot>,
): Promise<string[]> {
  const users = [...acknowledged];
  const lost: string[] = [];
  const auditNext = async (): Promise<void> => {
    for (let next = users.pop(); next !== undefined; next = users.pop()) {
      const [user, ids] = next;
      const chain = await ShardChain.from(await snapshotOf(user));
      lost.push(...chain.filter([...ids]).map((id) => `${user} ${id}`));
      chain.free();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, auditNext));
  return lost;
}
