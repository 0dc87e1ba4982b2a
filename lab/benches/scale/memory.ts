/** The memory of users' chains in a real Redis, stored by `redisStore`. */
import { redisStore } from "seenguard/server";
import { readUpToNow, type Age, type Sizes } from "./chains.ts";
import { infoOf, numberIn, type Master } from "./redis.ts";

export interface UserMemory {
  readonly age: string;
  /** Elements of the list. */
  readonly shards: number;
  /** Their characters. */
  readonly characters: number;
  /** The increase of Redis' `used_memory` by each user: the list, its key, and both in Redis' tables. */
  readonly usedMemory: number;
}

/** Fills an empty Redis with this number of users; returns means. */
export async function fill(master: Master, sizes: Sizes, age: Age, users: number): Promise<UserMemory> {
  const store = redisStore(master.cluster, sizes);
  const add = (user: number) =>
    store.update(nameOfUser(user), (chain) => {
      readUpToNow(chain, age, user);
    });
  await add(-1); // allocates Redis' scripts and buffers
  const before = numberIn(await infoOf(master.node), "used_memory");
  for (let user = 0; user < users; user++) await add(user);
  const usedMemory = (numberIn(await infoOf(master.node), "used_memory") - before) / users;
  return { age: age.name, ...(await weighLists(master, users)), usedMemory };
}

export const nameOfUser = (user: number): string => `user-${String(10_000_000 + user)}`;

type Lists = Pick<UserMemory, "shards" | "characters">;

async function weighLists({ node }: Master, users: number): Promise<Lists> {
  const sums = { shards: 0, characters: 0 };
  for (let user = 0; user < users; user++) {
    const key = `seen:{${nameOfUser(user)}}`;
    const elements = await node.lrange(key, 0, -1);
    sums.shards += elements.length;
    sums.characters += elements.reduce((sum, element) => sum + element.length, 0);
  }
  return { shards: sums.shards / users, characters: sums.characters / users };
}
