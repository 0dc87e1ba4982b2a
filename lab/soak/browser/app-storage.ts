/** The origin's storage in a tab: filled to the last half kilobyte, freed, and counted. */

const FILLING = "the app's own";

function opened(name: string, upgrade: (database: IDBDatabase) => void = () => {}): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(name);
    opening.onupgradeneeded = () => upgrade(opening.result);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(new Error(`${name} cannot be opened`));
  });
}

/** Fills a database of the app's own until nothing fits any more, with N bytes at most. */
export async function fillStorage(mostBytes: number): Promise<void> {
  let left = mostBytes;
  const database = await opened(FILLING, (made) => made.createObjectStore("pictures", { autoIncrement: true }));
  // An exception is a no, too: Firefox closes a database whose storage is full.
  const fits = (size: number) =>
    new Promise<boolean>((resolve) => {
      const transaction = database.transaction("pictures", "readwrite");
      transaction.oncomplete = () => resolve(true);
      transaction.onabort = () => resolve(false);
      // Random, as pictures are: what repeats itself would be compressed.
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
    // Blocked by a tab that is still filling it, it goes when that one is done.
    deleting.onsuccess = deleting.onerror = deleting.onblocked = () => resolve();
  });
}

/** The package's keys, and the characters of keys and values. */
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
