/**
 * The scripts that run in Redis. Their keys are those of the list (one shard an element, newest first), of the hash
 * beside it, and of the hash with what devices have pending. The crate in server/ and the job in examples/flink/ run
 * them, too.
 */
import keepText from "../../../server/lua/keep.lua";
import readText from "../../../server/lua/read.lua";
import replaceText from "../../../server/lua/replace.lua";
import stateText from "../../../server/lua/state.lua";

export interface Script {
  readonly text: string;
  readonly sha1: () => Promise<string>;
}

/**
 * All of the same moment: a history that was deleted must not meet the shards from before. With arguments, it first
 * keeps what a device has pending, if that has changed and its counter is not below the kept one's. Returns the list;
 * the hash, as names followed by their values; the state; of the other hash the values; and why Redis refused to keep
 * anything, or "".
 *
 * 1, 2, 3: the device name, the counter, and the text as a whole; 4: Unix seconds; 5: the seconds after which what is
 * kept expires; 6: of how many devices.
 */
export const READ = script(stateText, keepText, readText);

/** With the third of the keys alone, and the same arguments: keeps, and returns why Redis refused it, or "". */
export const KEEP = script(keepText, "return refused\n");

/**
 * Replaces list and hash, unless another process has changed either meanwhile: then it returns 0, else 1. With a third
 * key, that one is removed. In a full Redis it fails before it has changed anything, unless something is removed first.
 *
 * 1: the state, as it was read; 2, 3: from which to which element of the list stays, the first one beyond its end if
 * none; 4: the hash as it should be, as the JSON of its fields, or "" if it stays; 5: the seconds after which both
 * expire, or "0"; from 6 on: the new elements before those that stay, the oldest first.
 */
export const REPLACE = script(stateText, replaceText);

function script(...texts: readonly string[]): Script {
  const text = texts.join("");
  let sha1: Promise<string> | undefined;
  return { text, sha1: () => (sha1 ??= sha1Of(text)) };
}

async function sha1Of(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
