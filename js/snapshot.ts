/** Checks a snapshot's form before it goes into the module, which checks the shards themselves. */
import { describe, SeenGuardError } from "./errors.js";

/** A snapshot as the module takes it: negative numbers stand for what is absent. */
export interface CheckedSnapshot {
  readonly shards: string[];
  readonly version: number;
  readonly nowMs: number;
}

const MAX_SHARDS = 64;
const ABSENT = -1;

/** Reads a snapshot of any origin. Never throws: returns the error. */
export function checkSnapshot(snapshot: unknown): CheckedSnapshot | SeenGuardError {
  try {
    return read(snapshot);
  } catch (cause) {
    // A getter of the app's may throw what it likes.
    return cause instanceof SeenGuardError
      ? cause
      : new SeenGuardError("bad-snapshot", `the snapshot cannot be read: ${describe(cause)}`, cause);
  }
}

function read(snapshot: unknown): CheckedSnapshot {
  if (typeof snapshot !== "object" || snapshot === null || Array.isArray(snapshot)) {
    throw bad("a snapshot is an object with the property shards");
  }
  const { version, shards, format, now } = snapshot as Record<string, unknown>;
  if (version !== undefined && !(Number.isSafeInteger(version) && (version as number) >= 0)) {
    throw bad("a snapshot's version is a whole number from 0 to 2^53 - 1, or absent");
  }
  if (now !== undefined && !(Number.isFinite(now) && (now as number) >= 0)) {
    throw bad("a snapshot's now is the server's clock in Unix seconds, or absent");
  }
  if (format !== undefined && format !== "seenguard") throw bad("a snapshot's format is not known");
  if (!Array.isArray(shards)) throw bad("a snapshot's shards are a list of base64 texts");
  if (shards.length > MAX_SHARDS)
    throw new SeenGuardError("too-large", `a snapshot has at most ${String(MAX_SHARDS)} shards`);
  // Unlike map, this meets the holes of a sparse list, too: the module takes texts alone.
  const texts = Array.from(shards, (shard: unknown, index) => {
    if (typeof shard !== "string") throw bad(`shard ${String(index)} is no base64 text`);
    return shard;
  });
  return {
    shards: texts,
    version: (version as number | undefined) ?? ABSENT,
    nowMs: now === undefined ? ABSENT : Math.floor((now as number) * 1000),
  };
}

function bad(message: string): SeenGuardError {
  return new SeenGuardError("bad-snapshot", message);
}
