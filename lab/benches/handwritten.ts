/** Handwritten alternatives: the ids themselves, or hashes of them, and a loop. */
import type { Item, Peer } from "./peer.ts";

/** The usual approach of feeds today. */
export const set: Peer = {
  name: "Set",
  message: (shards) => Promise.resolve(JSON.stringify(shards.flat())),
  client() {
    let seen = new Set<string>();
    return Promise.resolve({
      take(message: string) {
        seen = new Set(JSON.parse(message) as string[]);
      },
      fresh(items: readonly Item[]) {
        const fresh: Item[] = [];
        for (const item of items) if (!seen.has(item.id)) fresh.push(item);
        return fresh;
      },
    });
  },
};

/** 32 bits of hash for each id, in order, searched by halving: few bytes, and a known rate of error. */
export const sortedHashes: Peer = {
  name: "sorted Uint32Array",
  message: (shards) => Promise.resolve(JSON.stringify(encode(Uint32Array.from(shards.flat(), fnv1a).sort()))),
  client() {
    let hashes = new Uint32Array(0);
    return Promise.resolve({
      take(message: string) {
        hashes = decode(JSON.parse(message) as string);
      },
      fresh(items: readonly Item[]) {
        const fresh: Item[] = [];
        for (const item of items) if (!contains(hashes, fnv1a(item.id))) fresh.push(item);
        return fresh;
      },
    });
  },
};

/** FNV-1a over UTF-16 units, 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

function contains(sorted: Uint32Array, value: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value;
}

/** As base64. */
function encode(numbers: Uint32Array): string {
  return btoa(Array.from(new Uint8Array(numbers.buffer), (byte) => String.fromCharCode(byte)).join(""));
}

function decode(base64: string): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)).buffer);
}
