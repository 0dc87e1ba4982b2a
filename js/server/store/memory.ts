/** `memoryStore`: users' chains in the memory of this process. */
import type { Backend, Loaded, PendingUpdate, Replacement, SeenStore, StoreOptions } from "../../types/server.js";
import { call, serverEngine } from "../engine.js";
import { backendPerformer } from "./performer.js";
import { ChainStore } from "./seen-store.js";

/** Above this number of users the least recently used one is removed. */
const MAX_USERS = 100_000;

export function memoryStore(options: StoreOptions = {}): SeenStore {
  return new ChainStore("memoryStore", options, backendPerformer(memoryBackend()));
}

export function memoryBackend(): Backend {
  return new MemoryBackend();
}

export function addPending(pending: string, { text, at, lifeSeconds }: PendingUpdate): string | undefined {
  const engine = serverEngine();
  return call(engine, () => engine.classes.addPending(pending, text, at, lifeSeconds));
}

class MemoryBackend implements Backend {
  /** The least recently used first. */
  private readonly users = new Map<string, Loaded>();
  /** Shared by all users, so that a user who was removed does not get an earlier revision again. */
  private lastRevision = 0;

  async load(user: string, reported?: PendingUpdate): Promise<Loaded> {
    if (reported) await this.storePending(user, reported);
    const loaded = this.loaded(user);
    if (this.users.has(user)) this.set(user, loaded);
    return loaded;
  }

  storePending(user: string, reported: PendingUpdate): Promise<undefined> {
    const before = this.loaded(user);
    const pending = addPending(before.pending, reported);
    if (pending !== undefined) this.set(user, { ...before, pending });
    return Promise.resolve(undefined);
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
    this.set(user, { stored: after, revision: ++this.lastRevision, pending: forgets ? "" : before.pending });
    return true;
  }

  private loaded(user: string): Loaded {
    return this.users.get(user) ?? { revision: 0, pending: "" };
  }

  /** Stores a user as the one used last. */
  private set(user: string, loaded: Loaded): void {
    this.users.delete(user);
    this.users.set(user, loaded);
    if (this.users.size > MAX_USERS) for (const [oldest] of this.users) return void this.users.delete(oldest);
  }
}
