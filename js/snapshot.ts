/** Checks a snapshot's form before it goes into the module, which checks the shards themselves. */
import { describe, SeenGuardError } from "./errors.js";
import { checkFormat, isChunked, type FormatArguments } from "./format.js";

/** A snapshot as the module takes it: negative numbers stand for what is absent. */
export interface CheckedSnapshot {
  readonly format: FormatArguments;
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
  const checkedFormat = checkFormat(format, (message) => {
    throw bad(`a snapshot's ${message}`);
  });
  if (!Array.isArray(shards)) throw bad("a snapshot's shards are a list of texts");
  if (shards.length > MAX_SHARDS)
    throw new SeenGuardError("too-large", `a snapshot has at most ${String(MAX_SHARDS)} shards`);
  // Unlike map, this meets the holes of a sparse list, too: the module takes texts alone.
  const texts = Array.from(shards, (shard: unknown, index) =>
    textOf(shard, isChunked(format), `shard ${String(index)}`),
  );
  return {
    format: checkedFormat,
    shards: texts,
    version: (version as number | undefined) ?? ABSENT,
    nowMs: now === undefined ? ABSENT : Math.floor((now as number) * 1000),
  };
}

/** A shard as the module takes it: the chunks of a dump joined by commas. */
function textOf(shard: unknown, isChunked: boolean, name: string): string {
  if (!isChunked) {
    if (typeof shard !== "string") throw bad(`${name} is no text`);
    return shard;
  }
  if (!Array.isArray(shard)) throw bad(`${name} is no list of texts: the chunks of BF.SCANDUMP, in order, as base64`);
  const chunks = Array.from(shard, (chunk: unknown) => {
    if (typeof chunk !== "string") throw bad(`${name} has a chunk that is no text: each is base64`);
    // Else one chunk could pass for two.
    if (chunk.includes(",")) throw new SeenGuardError("bad-base64", `${name} has a chunk that is no base64 text`);
    return chunk;
  });
  return chunks.join(",");
}

function bad(message: string): SeenGuardError {
  return new SeenGuardError("bad-snapshot", message);
}
