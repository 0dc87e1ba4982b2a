/** localStorage, and storages of the app's own. */
import { copyList } from "../ids.js";
import type { SeenStorage } from "../types/seenguard.js";
import { textOf, type KeyValueStore } from "./key-value-store.js";

/** localStorage as if it were the app's own. */
const local: SeenStorage = {
  get: (key) => localStorage.getItem(key),
  set: (key, value) => localStorage.setItem(key, value),
  remove: (key) => localStorage.removeItem(key),
  keys: () => Object.keys(localStorage),
};

export class SimpleStore implements KeyValueStore {
  readonly kind: "local" | "custom";
  private readonly storage: SeenStorage;

  constructor(storage: SeenStorage | "local") {
    this.kind = storage === "local" ? "local" : "custom";
    this.storage = storage === "local" ? local : storage;
  }

  async keys(prefix: string): Promise<string[]> {
    const keys: unknown = await this.storage.keys();
    if (!Array.isArray(keys)) throw new TypeError("keys() of the storage did not return a list");
    return copyList<unknown>(keys).filter((key): key is string => typeof key === "string" && key.startsWith(prefix));
  }

  read(keys: readonly string[]): Promise<(string | undefined)[]> {
    return Promise.all(keys.map(async (key) => textOf(await this.storage.get(key))));
  }

  /** localStorage has the value when this returns. */
  async write(key: string, text: string): Promise<void> {
    await this.storage.set(key, text);
  }

  async remove(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map(async (key) => this.storage.remove(key)));
  }
}
