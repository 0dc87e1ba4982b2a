/**
 * Real addresses as ids: www/data/README.md says where they are from. The first half of them can have been seen, the
 * second half is always new.
 */
import text from "../../www/data/wiki-urls-10000";
import { randomBelow } from "./ids.ts";

const urls = text.trim().split("\n");
const half = urls.length / 2;

/** Shards take one stretch after the other. */
export const seenUrls = (count: number, seed: number): string[] =>
  Array.from({ length: count }, (_, index) => urls[(seed * count + index) % half] ?? "");

export function newUrls(count: number, seed: number): string[] {
  const start = randomBelow(seed)(half);
  return Array.from({ length: count }, (_, index) => urls[half + ((start + index) % half)] ?? "");
}
