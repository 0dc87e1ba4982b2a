/**
 * Fills what this origin may store, and frees it again.
 *
 * localStorage holds 5 MB everywhere. What IndexedDB may hold depends on the disk; where that is more than anybody should write
 * for a demo, nothing is written, and the page offers itself with localStorage instead.
 */
import { bytes } from "./words.ts";

const MOST_TO_WRITE = 200_000_000;
const DATABASE = "demo-filling";
const PARTS = "parts";
const LOCAL_KEY = "demo-filling:";
const LARGEST_PART = 1 << 20;
const SMALLEST_DATABASE_PART = 1 << 9;
/** The browser hands out random bytes in pieces of so many. */
const MOST_RANDOM = 1 << 16;

export interface Outcome {
  readonly filled: boolean;
  readonly words: string;
}

/** Fills localStorage, and the database too if that is where impressions are kept; `progress` hears how far it is. */
export async function fillStorage(kind: "local" | "indexeddb", progress: (words: string) => void): Promise<Outcome> {
  if (kind === "indexeddb") {
    // Pages without TLS, such as this one shown on a phone, are not told how much there is.
    const { quota = Infinity, usage = 0 } = isSecureContext ? await navigator.storage.estimate() : {};
    if (quota - usage > MOST_TO_WRITE)
      return {
        filled: false,
        words: `This browser has room for ${Number.isFinite(quota) ? bytes(quota) : "more"}: too much to fill.`,
      };
  }
  let written = fillLocalStorage();
  if (kind === "indexeddb") written += await fillDatabase((size) => progress(`Filling: ${bytes(size)} …`));
  return { filled: true, words: `Filled with ${bytes(written)}.` };
}

export async function freeStorage(): Promise<void> {
  for (const key of Object.keys(localStorage)) if (key.startsWith(LOCAL_KEY)) localStorage.removeItem(key);
  await asPromise(indexedDB.deleteDatabase(DATABASE));
}

/** Returns the number of characters. */
function fillLocalStorage(): number {
  let written = 0;
  for (let size = LARGEST_PART; size >= 1; size /= 2) {
    try {
      for (;;) {
        localStorage.setItem(`${LOCAL_KEY}${String(written)}`, "x".repeat(size));
        written += size;
      }
    } catch {
      // A smaller piece may still fit.
    }
  }
  return written;
}

/** Returns the number of bytes. */
async function fillDatabase(progress: (bytes: number) => void): Promise<number> {
  const opening = indexedDB.open(DATABASE);
  opening.onupgradeneeded = () => opening.result.createObjectStore(PARTS, { autoIncrement: true });
  const database = await asPromise(opening);
  let written = 0;
  for (let size = LARGEST_PART; size >= SMALLEST_DATABASE_PART; size /= 2) {
    while (await fits(database, size)) {
      written += size;
      progress(written);
    }
  }
  database.close();
  return written;
}

function fits(database: IDBDatabase, size: number): Promise<boolean> {
  return new Promise((resolve) => {
    const transaction = database.transaction(PARTS, "readwrite");
    transaction.oncomplete = () => resolve(true);
    transaction.onabort = () => resolve(false);
    transaction.objectStore(PARTS).add(noise(size));
  });
}

/** Random, since what repeats itself would be compressed. */
function noise(size: number): Uint8Array<ArrayBuffer> {
  const content = new Uint8Array(size);
  for (let at = 0; at < size; at += MOST_RANDOM) crypto.getRandomValues(content.subarray(at, at + MOST_RANDOM));
  return content;
}

function asPromise<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the database cannot be opened"));
  });
}
