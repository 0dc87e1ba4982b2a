/**
 * The two scripts that run in Redis. Both have the keys of the list (one shard an element, newest first) and of the
 * hash beside it. The job in examples/flink/ runs them, too.
 */
import readText from "./read.lua";
import replaceText from "./replace.lua";

export interface Script {
  readonly text: string;
  readonly sha1: () => Promise<string>;
}

/** List and hash of the same moment: a history that was deleted must not meet the shards from before. */
export const READ = script(readText);

/**
 * Replaces both, unless somebody has changed either since it was read: then it returns 0, else 1. Every change of the
 * list changes its newest element or its length. The hash is mostly empty, and is compared field by field.
 *
 * 1, 2: the list's length and its newest element ("" if it has none), as they were read; 3: the hash, as the JSON of
 * its fields; 4, 5: from which to which element of the list stays; 6: the hash as it should be, or "" if it stays; 7:
 * the seconds after which both expire, or "0"; from 8 on: the new elements before those that stay, the oldest first.
 */
export const REPLACE = script(replaceText);

function script(text: string): Script {
  let sha1: Promise<string> | undefined;
  return { text, sha1: () => (sha1 ??= sha1Of(text)) };
}

async function sha1Of(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
