/** The origin's storage in a tab: fills it to the last half kilobyte, frees and counts it. */

const FILLING = "the app's own";

function opened(name: string, upgrade: (database: IDBDatabase) => void = () => {}): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(name);
    opening.onupgradeneeded = () => upgrade(opening.result);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(new Error(`${name} cannot be opened`));
  });
}

/** Fills a database of the app with at most this many bytes, until nothing more fits. */
export async function fillStorage(mostBytes: number): Promise<void> {
  let left = mostBytes;
  const database = await opened(FILLING, (made) => made.createObjectStore("pictures", { autoIncrement: true }));
  // An exception means full, too: Firefox closes the database.
  const fits = (size: number) =>
    new Promise<boolean>((resolve) => {
      const transaction = database.transaction("pictures", "readwrite");
      transaction.oncomplete = () => resolve(true);
      transaction.onabort = () => resolve(false);
      // Random bytes, since others would be compressed.
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size; at += 1 << 16) crypto.getRandomValues(bytes.subarray(at, at + (1 << 16)));
      transaction.objectStore("pictures").add(bytes);
    }).catch(() => false);
  for (let size = 1 << 20; size >= 512; size >>= 1) while (left >= size && (await fits(size))) left -= size;
  database.close();
}

export function freeStorage(): Promise<void> {
  return new Promise((resolve) => {
    const deleting = indexedDB.deleteDatabase(FILLING);
    // If a tab is still filling it, it is deleted afterwards.
    deleting.onsuccess = deleting.onerror = deleting.onblocked = () => resolve();
  });
}

/** Returns the package's keys, and the number of characters of keys and values. */
export async function storedKeys(): Promise<{ keys: string[]; characters: number }> {
  const database = await opened("seenguard");
  const store = database.transaction("entries").objectStore("entries");
  const all = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(new Error("the package's storage cannot be read"));
    });
  const [keys, values] = await Promise.all([all(store.getAllKeys()), all(store.getAll())]);
  database.close();
  const texts = [...keys, ...(values as unknown[])].map(String);
  return { keys: keys.map(String), characters: texts.reduce((sum, { length }) => sum + length, 0) };
}
