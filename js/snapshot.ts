/** Checks a snapshot's form before it goes into the module, which checks the shards themselves. */
import { failure, SeenGuardError } from "./errors.js";
import { checkFormat, type FormatArguments } from "./format.js";
import { checkEach, isObject, type Rules } from "./options.js";

/** A snapshot as the module takes it: negative numbers stand for what is absent. */
export interface CheckedSnapshot {
  readonly format: FormatArguments;
  readonly shards: string[];
  readonly version: number;
  readonly nowMs: number;
}

const MAX_SHARDS = 64;
const ABSENT = -1;

const rules: Rules = {
  version: [
    "a whole number from 0 to 2^53 - 1, or absent",
    (version) => version === undefined || (Number.isSafeInteger(version) && (version as number) >= 0),
  ],
  now: [
    "the server's clock in Unix seconds, or absent",
    (now) => now === undefined || (Number.isFinite(now) && (now as number) >= 0),
  ],
  shards: ["a list of texts", Array.isArray],
};

/** Reads a snapshot of any origin. Never throws: returns the error. */
export function checkSnapshot(snapshot: unknown): CheckedSnapshot | SeenGuardError {
  try {
    return read(snapshot);
  } catch (cause) {
    // A getter of the app's may throw what it likes.
    return cause instanceof SeenGuardError ? cause : failure("bad-snapshot", "the snapshot cannot be read", cause);
  }
}

function read(snapshot: unknown): CheckedSnapshot {
  if (!isObject(snapshot)) return bad("a snapshot is an object with the property shards");
  const { version, shards, format, now } = snapshot;
  const badPart = (message: string) => bad(`a snapshot's ${message}`);
  checkEach({ version, now, shards }, rules, badPart);
  const list = shards as readonly unknown[];
  const checkedFormat = checkFormat(format, badPart);
  if (list.length > MAX_SHARDS) return bad(`a snapshot has at most ${MAX_SHARDS} shards`, "too-large");
  return {
    format: checkedFormat,
    // Unlike map, this meets the holes of a sparse list, too: the module takes texts alone.
    shards: Array.from(list, (shard, index) => textOf(shard, format === "redisbloom", `shard ${index}`)),
    version: (version as number | undefined) ?? ABSENT,
    nowMs: now === undefined ? ABSENT : Math.floor((now as number) * 1000),
  };
}

/** A shard as the module takes it: the chunks of a dump joined by commas. */
function textOf(shard: unknown, isChunked: boolean, name: string): string {
  if (!isChunked) return typeof shard === "string" ? shard : bad(`${name} is no text`);
  if (!Array.isArray(shard)) return bad(`${name} is no list of texts: the chunks of BF.SCANDUMP, in order, as base64`);
  return Array.from(shard, (chunk: unknown) => {
    if (typeof chunk !== "string") return bad(`${name} has a chunk that is no text: each is base64`);
    // Else one chunk could pass for two.
    return chunk.includes(",") ? bad(`${name} has a chunk that is no base64 text`, "bad-base64") : chunk;
  }).join(",");
}

function bad(message: string, code: SeenGuardError["code"] = "bad-snapshot"): never {
  throw new SeenGuardError(code, message);
}
