/** Checks a snapshot's form before it goes into the module, which checks the shards themselves. */
import { failure, SeenGuardError } from "./errors.js";
import { checkFormat, REDISBLOOM, type FormatArguments } from "./format.js";
import { checkEach, REQUIRED, type Rules } from "./options.js";

/** A snapshot as the module takes it: NaN stands for what is absent. */
export interface CheckedSnapshot {
  readonly format: FormatArguments;
  readonly shards: string[];
  readonly version: number;
  readonly nowMs: number;
}

const rules: Rules = {
  version: [
    "a whole number from 0 to 2^53 - 1",
    (version) => Number.isSafeInteger(version) && (version as number) >= 0,
  ],
  now: ["the server's clock in Unix seconds", (now) => Number.isFinite(now) && (now as number) >= 0],
  shards: ["a list of texts", Array.isArray, REQUIRED],
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

/** What is no object has no shards. */
function read(snapshot: unknown): CheckedSnapshot {
  const parts = (snapshot ?? {}) as Record<string, unknown>;
  const badPart = (message: string) => bad(`a snapshot's ${message}`);
  const { version, shards, now } = checkEach(parts, rules, badPart);
  const list = shards as readonly unknown[];
  const format = checkFormat(parts.format, badPart);
  return {
    format,
    // Unlike map, this meets the holes of a sparse list, too: the module takes texts alone.
    shards: Array.from(list, (shard, index) => textOf(shard, format[0] === REDISBLOOM, `shard ${index}`)),
    version: Number(version),
    nowMs: Math.floor(Number(now) * 1000),
  };
}

/** A shard as the module takes it: the chunks of a dump joined by commas. */
function textOf(shard: unknown, isChunked: boolean, name: string): string {
  if (!isChunked) return typeof shard === "string" ? shard : bad(`${name} is no text`);
  const chunks: unknown[] = Array.isArray(shard) ? Array.from(shard) : [undefined];
  if (!chunks.every((chunk) => typeof chunk === "string"))
    return bad(`${name} is no list of texts: the chunks of BF.SCANDUMP, in order, as base64`);
  // Else one chunk could pass for two.
  if (chunks.some((chunk) => chunk.includes(",")))
    return bad(`${name} has a chunk that is no base64 text`, "bad-base64");
  return chunks.join();
}

function bad(message: string, code: SeenGuardError["code"] = "bad-snapshot"): never {
  throw new SeenGuardError(code, message);
}
