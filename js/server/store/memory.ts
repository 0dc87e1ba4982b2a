/** `memoryStore`: users' chains in the memory of this process. */
import type { Backend, Loaded, PendingToKeep, Replacement, SeenStore, StoreOptions } from "../../types/server.js";
import { call, serverEngine } from "../engine.js";
import { ChainStore, NOTHING_STORED } from "./seen-store.js";

export function memoryStore(options: StoreOptions = {}): SeenStore {
  return new ChainStore("memoryStore", options, memoryBackend());
}

export function memoryBackend(): Backend {
  return new MemoryBackend();
}

export function keepPending(kept: string, { text, at, lifeSeconds }: PendingToKeep): string | undefined {
  const engine = serverEngine();
  return call(engine, () => engine.classes.keepPending(kept, text, at, lifeSeconds));
}

class MemoryBackend implements Backend {
  private readonly users = new Map<string, Loaded>();

  async load(user: string, told?: PendingToKeep): Promise<Loaded> {
    if (told) await this.keep(user, told);
    return this.loaded(user);
  }

  keep(user: string, told: PendingToKeep): Promise<void> {
    const before = this.loaded(user);
    const kept = keepPending(before.kept, told);
    if (kept !== undefined) this.users.set(user, { ...before, kept });
    return Promise.resolve();
  }

  replace(user: string, replacement: Replacement): Promise<boolean> {
    return Promise.resolve(this.store(user, replacement, false));
  }

  forget(user: string, replacement: Replacement): Promise<boolean> {
    return Promise.resolve(this.store(user, replacement, true));
  }

  private store(user: string, { revision, after }: Replacement, forgets: boolean): boolean {
    const before = this.loaded(user);
    if (before.revision !== revision) return false;
    this.users.set(user, { stored: after, revision: revision + 1, kept: forgets ? "" : before.kept });
    return true;
  }

  private loaded(user: string): Loaded {
    return this.users.get(user) ?? { stored: NOTHING_STORED, revision: 0, kept: "" };
  }
}
