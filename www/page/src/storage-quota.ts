/**
 * Uses up this origin's storage quota, and frees it again.
 *
 * localStorage has 5 MB everywhere. The quota of IndexedDB depends on the disk; if it is more than a demo should write, the
 * data is removed again, and the page offers localStorage instead.
 */
import { bytes } from "./format.ts";

/** Browsers report a quota that is not the real one: only writing shows it. */
const MAX_TO_WRITE = 24_000_000;
const DATABASE = "demo-quota";
const PARTS = "parts";
const LOCAL_KEY = "demo-quota:";
const LARGEST_PART = 1 << 20;
/**
 * Chromium puts larger values into files next to the database, which count late; `getRandomValues` makes no more at
 * once.
 */
const LARGEST_DATABASE_PART = 1 << 16;
const SMALLEST_DATABASE_PART = 1 << 9;

export interface Outcome {
  readonly filled: boolean;
  readonly message: string;
}

/** Fills localStorage, and the database too if impressions are stored there; `progress` receives how much is filled. */
export async function fillStorage(kind: "local" | "indexeddb", progress: (message: string) => void): Promise<Outcome> {
  let written = 0;
  if (kind === "indexeddb") {
    written = await fillDatabase((size) => progress(`Filling: ${bytes(size)} …`));
    if (written >= MAX_TO_WRITE) {
      await freeStorage();
      return {
        filled: false,
        message: `This browser has space for more than ${bytes(MAX_TO_WRITE)}: too much to fill.`,
      };
    }
  }
  written += fillLocalStorage();
  return { filled: true, message: `Filled with ${bytes(written)}.` };
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
  for (let size = LARGEST_DATABASE_PART; size >= SMALLEST_DATABASE_PART; size /= 2) {
    while (written < MAX_TO_WRITE && (await fits(database, size))) {
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
    // Random, since repeated bytes would be compressed.
    transaction.objectStore(PARTS).add(crypto.getRandomValues(new Uint8Array(size)));
  });
}

function asPromise<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the database cannot be opened"));
  });
}
