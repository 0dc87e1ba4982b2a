/**
 * Reads shards from the command's input: a snapshot, a list or lines, in an argument, a file or the standard input.
 */
import { readFile, stat } from "node:fs/promises";
import { text as readText } from "node:stream/consumers";
import { describe, SeenGuardError } from "../../errors.ts";
import type { ShardFormat } from "../../types/seenguard.js";
import { readFormats } from "../../input/snapshot.ts";
import { checkSnapshot } from "../../input/snapshot.ts";
import { badUsage } from "../command.ts";
import type { Options } from "./options.ts";

/** Shards, newest first, each as an argument of the engine: the chunks of a RedisBloom dump are joined by commas. */
export interface Source {
  readonly shards: readonly string[];
  /** The format of the shards; absent: each is recognised by its content. */
  readonly format: ShardFormat | undefined;
  readonly snapshot: { readonly version?: number; readonly now?: number } | undefined;
}

/** Throws `bad-option` if there is no input, `bad-snapshot` and similar codes for invalid JSON. */
export async function readSources({ inputs, format }: Options): Promise<Source> {
  if (inputs.length === 0 && process.stdin.isTTY) throw badUsage("a shard, a file or a standard input is missing");
  const sources: Source[] = [];
  for (const input of inputs.length === 0 ? ["-"] : inputs) sources.push(sourceOf(await read(input), format));
  const [first] = sources;
  if (first !== undefined && sources.length === 1) return first;
  if (sources.some(({ snapshot }) => snapshot !== undefined)) throw badUsage("one snapshot at a time");
  return { shards: sources.flatMap(({ shards }) => shards), format, snapshot: undefined };
}

async function read(input: string): Promise<string> {
  if (input === "-") return readText(process.stdin);
  // Unless it names a file, an argument may be a shard, which can be longer than a file name.
  const isFile = await stat(input).then(
    (stats) => !stats.isDirectory(),
    () => false,
  );
  if (isFile) {
    return readFile(input, "utf8").catch((error: unknown) => {
      throw badUsage(`${input} cannot be read: ${describe(error)}`);
    });
  }
  if (/^\.{0,2}[/\\]|\.(json|txt|b64|base64|bin)$/.test(input) && !/[,{[]/.test(input) && input.length < 256)
    throw badUsage(`there is no file ${input}`);
  return input;
}

function sourceOf(input: string, format: ShardFormat | undefined): Source {
  const text = input.trim();
  if (text === "")
    throw new SeenGuardError("bad-snapshot", "truncated: the input is empty: pass a shard or a snapshot");
  if (!/^["[{]/.test(text))
    return { shards: text.split("\n").map(fromLine).filter(Boolean), format, snapshot: undefined };
  const value = parse(text);
  const snapshot = snapshotIn(value);
  if (snapshot !== undefined) return fromSnapshot(snapshot, format);
  return { shards: listOf(value, format), format, snapshot: undefined };
}

/** A line of a file, or of redis-cli's output on a terminal: `1) "…"`. */
function fromLine(line: string): string {
  const trimmed = line.trim();
  return /^\d+\) "(.*)"$/.exec(trimmed)?.[1] ?? trimmed;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SeenGuardError(
      "bad-snapshot",
      `the input begins like JSON and cannot be parsed: ${describe(error)}`,
      error,
    );
  }
}

/** A snapshot, or the one in a response with items. */
function snapshotIn(value: unknown): object | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if ("shards" in value) return value;
  if (!("snapshot" in value) || typeof value.snapshot !== "object") return undefined;
  return value.snapshot ?? undefined;
}

/** The most shards that a guard accepts. */
const MAX_SHARDS = 64;

/** Uses the guard's own check. A format on the command line takes precedence over the snapshot's. */
function fromSnapshot(snapshot: object, format: ShardFormat | undefined): Source {
  const named = { ...snapshot, ...(format === undefined ? {} : { format }) } as { format?: ShardFormat; now?: number };
  const checked = checkSnapshot(named, readFormats);
  if (checked.shards.length > MAX_SHARDS)
    throw new SeenGuardError("bad-snapshot", `too-large: a snapshot has at most ${MAX_SHARDS} shards`);
  return {
    shards: checked.shards,
    format: named.format ?? "seenguard",
    snapshot: {
      ...(Number.isNaN(checked.version) ? {} : { version: checked.version }),
      ...(Number.isNaN(checked.nowMs) ? {} : { now: checked.nowMs / 1000 }),
    },
  };
}

/** Shards in a list, or a single one. */
function listOf(value: unknown, format: ShardFormat | undefined): string[] {
  const dump = dumpOf(value, format === "redisbloom");
  if (dump !== undefined) return [dump];
  return Array.isArray(value) ? value.map(shardOf) : [shardOf(value)];
}

function shardOf(value: unknown): string {
  if (typeof value === "string") return value;
  // bits-and-blooms has a form in JSON, which is read as text.
  if (typeof value === "object" && value !== null && "b" in value) return JSON.stringify(value);
  const dump = dumpOf(value, true);
  if (dump === undefined)
    throw new SeenGuardError(
      "bad-snapshot",
      "the JSON is neither a snapshot nor a shard nor a list of shards: pass one of these",
    );
  return dump;
}

/**
 * The chunks of one BF.SCANDUMP, joined: from pairs of an iterator and a chunk or, if `mayBeChunks`, from a list of
 * chunks.
 */
function dumpOf(value: unknown, mayBeChunks: boolean): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const isPair = (chunk: unknown): chunk is [number, string] =>
    Array.isArray(chunk) && chunk.length === 2 && typeof chunk[0] === "number" && typeof chunk[1] === "string";
  if (value.every(isPair)) return value.map(([, chunk]) => chunk).join(",");
  const isString = (chunk: unknown): chunk is string => typeof chunk === "string";
  return mayBeChunks && value.every(isString) ? value.join(",") : undefined;
}
