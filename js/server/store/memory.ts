/** `memoryStore`: users' chains in this process, gone with it. */
import type { SeenStore, StoreOptions } from "../../types/server.js";
import { call, loadServerEngine } from "../engine.js";
import { ChainStore, type Asking, type Backend, type Replacement } from "./seen-store.js";
import { NOTHING_SEEN, type ReadSeen, type StoredSeen } from "./stored-seen.js";

export function memoryStore(options: StoreOptions = {}): SeenStore {
  return new ChainStore("memoryStore", options, new MemoryBackend());
}

class MemoryBackend implements Backend<StoredSeen> {
  private readonly users = new Map<string, StoredSeen>();
  /** What devices have pending, in lines. */
  private readonly kept = new Map<string, string>();

  async read(user: string, asking?: Asking): Promise<ReadSeen<StoredSeen>> {
    if (asking) await this.keep(user, asking);
    return { seen: this.stored(user), kept: this.kept.get(user) ?? "" };
  }

  async keep(user: string, { pending, namespace, now, pendingSeconds }: Asking): Promise<void> {
    const engine = await loadServerEngine();
    const before = this.kept.get(user) ?? "";
    const after = call(engine, () => engine.classes.keepPending(before, pending, namespace, now, pendingSeconds));
    if (after !== undefined) this.kept.set(user, after);
  }

  replace(user: string, { before, after, forgets }: Replacement<StoredSeen>): Promise<boolean> {
    const isCurrent = this.stored(user) === before;
    if (isCurrent) this.users.set(user, after);
    if (isCurrent && forgets) this.kept.delete(user);
    return Promise.resolve(isCurrent);
  }

  private stored(user: string): StoredSeen {
    return this.users.get(user) ?? NOTHING_SEEN;
  }
}
