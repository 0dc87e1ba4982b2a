/** Reads shards in the formats of other libraries, for entries whose module supports them. */
import { checkFormat, REDISBLOOM } from "./format.js";
import { copyList } from "./ids.js";
import type { ReadShards } from "../engine/load.js";
import { bad, badPart, mapShards, textOf } from "./snapshot.js";

export const readFormats: ReadShards = (named, shards) => {
  const format = checkFormat(named, badPart);
  return { format, shards: mapShards(shards, format[0] === REDISBLOOM ? chunksOf : textOf) };
};

/** The chunks of a dump as an argument of the module: joined by commas. */
function chunksOf(shard: unknown, name: string): string {
  // A reference stands for all chunks of a shard.
  if (typeof shard === "string" && shard.startsWith("~")) return shard;
  const chunks: unknown[] = Array.isArray(shard) ? copyList(shard) : [undefined];
  if (!chunks.every((chunk) => typeof chunk === "string"))
    return bad(`${name} must be a list of strings: the chunks of BF.SCANDUMP, in order, as base64`);
  // Otherwise one chunk could be read as two.
  if (chunks.some((chunk) => chunk.includes(","))) return bad(`bad-base64: ${name} has a chunk other than base64`);
  return chunks.join();
}
