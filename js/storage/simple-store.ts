/** localStorage, and storages of the app's own. */
import { copyList } from "../ids.js";
import type { GuardStats, SeenStorage } from "../types/seenguard.js";
import { textOf, type KeyValueStore } from "./key-value-store.js";

/** localStorage as if it were the app's own. */
const local: SeenStorage = {
  get: (key) => localStorage.getItem(key),
  set: (key, value) => localStorage.setItem(key, value),
  remove: (key) => localStorage.removeItem(key),
  keys: () => Object.keys(localStorage),
};

export class SimpleStore implements KeyValueStore {
  readonly kind: GuardStats["storage"];
  private readonly storage: SeenStorage;

  constructor(storage: SeenStorage | "local") {
    this.kind = storage === "local" ? "local" : "custom";
    this.storage = storage === "local" ? local : storage;
  }

  read(keys: readonly string[]): Promise<(string | undefined)[]> {
    return Promise.all(keys.map(async (key) => textOf(await this.storage.get(key))));
  }

  /** localStorage has a single value when this returns. */
  async write(values: Readonly<Record<string, string>>, beside?: string): Promise<string | undefined> {
    const written: string[] = [];
    try {
      for (const [key, value] of Object.entries(values)) {
        await this.storage.set(key, value);
        written.push(key);
      }
    } catch (cause) {
      // What fills up a storage for nothing would keep others from it.
      await this.remove(written);
      throw cause;
    }
    return beside === undefined ? undefined : textOf(await this.storage.get(beside));
  }

  async replace(key: string, value: string, expected: string | undefined): Promise<boolean> {
    const present = this.storage.get(key);
    // What is there at once is not waited for: another tab could write to localStorage meanwhile.
    if (textOf(typeof present === "object" ? await present : present) !== expected) return false;
    await this.storage.set(key, value);
    return true;
  }

  async remove(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map(async (key) => this.storage.remove(key)));
  }

  async keys(prefix: string): Promise<string[]> {
    const keys: unknown = await this.storage.keys();
    if (!Array.isArray(keys)) throw new TypeError("keys() of the storage did not return a list");
    return copyList<unknown>(keys).filter((key): key is string => typeof key === "string" && key.startsWith(prefix));
  }
}
