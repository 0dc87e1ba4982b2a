/** localStorage, and storages of the app's own. */
import type { GuardStats, SeenStorage } from "../types/seenguard.js";
import { textOf, type Condition, type KeyValueStore } from "./key-value-store.js";

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

  async write(key: string, value: string, condition?: Condition): Promise<boolean> {
    if (condition) {
      const found = this.storage.get(condition.key);
      // Without waiting for what is there already, localStorage has the value when the present task ends.
      if (textOf(typeof found === "object" ? await found : found) !== condition.value) return false;
    }
    await this.storage.set(key, value);
    return true;
  }

  async remove(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map(async (key) => this.storage.remove(key)));
  }

  async keys(prefix: string): Promise<string[]> {
    const keys: unknown = await this.storage.keys();
    if (!Array.isArray(keys)) throw new TypeError("keys() of the storage did not return a list");
    return keys.filter((key): key is string => typeof key === "string" && key.startsWith(prefix));
  }
}
