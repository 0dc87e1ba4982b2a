/** Whether everything that was acknowledged is in the users' chains, as a server ships them. */
import { ShardChain, type Snapshot } from "seenguard/server";

const AT_ONCE = 20;

/**
 * The acknowledged ids that no chain contains, as `user id`. A chain's false positives hide a lost id at the rate of
 * the filter.
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
