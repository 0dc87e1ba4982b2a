/** `memoryStore`: users' chains in this process, gone with it. */
import type { ChainOptions, SeenStore } from "../../types/server.js";
import { ChainStore } from "./seen-store.js";
import { NOTHING_SEEN, type StoredSeen } from "./stored-seen.js";

export function memoryStore(options: ChainOptions = {}): SeenStore {
  const users = new Map<string, StoredSeen>();
  const stored = (user: string) => users.get(user) ?? NOTHING_SEEN;
  const replace = (user: string, before: StoredSeen, after: StoredSeen): boolean => {
    const isCurrent = stored(user) === before;
    if (isCurrent) users.set(user, after);
    return isCurrent;
  };
  return new ChainStore(options, () => ({
    read: (user) => Promise.resolve(stored(user)),
    replace: (user, before, after) => Promise.resolve(replace(user, before, after)),
  }));
}
