/**
 * The scripts that run in Redis. Their keys are those of the list (one shard an element, newest first), of the hash
 * beside it, and of the hash with what devices have pending. The crate in server/ and the job in examples/flink/ run
 * them, too.
 */
import keepText from "../../../server/lua/keep.lua";
import keptText from "../../../server/lua/kept.lua";
import loadText from "../../../server/lua/load.lua";
import replaceText from "../../../server/lua/replace.lua";
import runText from "../../../server/lua/run.lua";

export interface Script {
  readonly text: string;
  readonly sha1: () => Promise<string>;
}

/**
 * All of the same moment: a history that was deleted must not meet the shards from before. With arguments, it first
 * keeps what a device has pending, if that has changed and its counter is not below the kept one's. Returns the list;
 * the hash, as names followed by their values, the revision among them; the revision, "0" if nothing is stored; of the
 * other hash the values; why Redis refused to keep anything, or ""; and Redis's time in Unix milliseconds.
 *
 * 1, 2, 3: the device name, the counter, and the text as a whole; 4: Unix seconds; 5: the seconds after which what is
 * kept expires; 6: of how many devices.
 */
export const LOAD = script(runText, keepText, loadText);

/** With the third of the keys alone, and the same arguments: keeps. */
export const KEEP = script(runText, keepText, keptText);

/**
 * Replaces list and hash, unless another process has changed either meanwhile: then it returns 0, else 1. With a third
 * key, that one is removed. In a full Redis it fails before it has changed anything, unless there is a third key.
 *
 * 1: the revision, as it was read; 2, 3: from which to which element of the list stays, the first one beyond its end if
 * none; 4: JSON of the fields of the hash that change, of each its value, or false if it goes, or ""; 5: the seconds
 * after which both expire, or "0"; from 6 on: the new elements before those that stay, the oldest first.
 */
export const REPLACE = script(runText, replaceText);

function script(...texts: readonly string[]): Script {
  const text = texts.join("");
  let sha1: Promise<string> | undefined;
  return { text, sha1: () => (sha1 ??= sha1Of(text)) };
}

async function sha1Of(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
