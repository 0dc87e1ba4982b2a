/** localStorage as a document has it: shared by all documents, which receive an event of each other's changes. */
import type { PageDocument } from "./browser.js";

/** Its methods, and its keys as own properties. */
export function localStorageOf(document: PageDocument): object {
  const { local } = document.browser;
  const methods = document.browser.world.local === "denied" ? undefined : methodsOf(document);
  const get = (name: string | symbol): unknown => {
    if (!methods) throw new DOMException("denied", "SecurityError");
    document.browser.count();
    if (name === "length") return local.size;
    return (methods as Record<string | symbol, unknown>)[name] ?? local.get(String(name));
  };
  return new Proxy(
    {},
    {
      get: (_, name) => get(name),
      has: (_, name) => get(name) !== undefined,
      ownKeys: () => (get("length"), [...local.keys()]),
      getOwnPropertyDescriptor: (_, name) => ({ value: get(name), enumerable: true, configurable: true }),
    },
  );
}

function methodsOf(document: PageDocument) {
  const { browser } = document;
  const { local, ledger } = browser;
  const changed = (key: string, before: string | undefined) => {
    const value = local.get(key);
    if (value !== before) browser.storageEvent(document, key, before ?? null, value ?? null);
  };
  return {
    key: (index: number) => [...local.keys()][index] ?? null,
    getItem: (key: string) => {
      const value = local.get(key);
      ledger.readLocal(document, key, value);
      return value ?? null;
    },
    setItem: (key: string, value: string) => {
      if (browser.isLocalDeaf) return;
      const before = local.get(key);
      const size = sizeOf(local) + value.length - (before === undefined ? -key.length : before.length);
      if (size > browser.localRoom) throw new DOMException("no room", "QuotaExceededError");
      ledger.writeLocal(document, key, value);
      local.set(key, value);
      changed(key, before);
    },
    removeItem: (key: string) => {
      const before = local.get(key);
      local.delete(key);
      changed(key, before);
    },
  };
}

export function sizeOf(values: ReadonlyMap<string, string>): number {
  let size = 0;
  for (const [key, value] of values) size += key.length + value.length;
  return size;
}
