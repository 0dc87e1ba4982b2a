/**
 * The snapshot in use as it is stored, for the next visit: as it came, but with each shard by its reference, and the
 * shards' texts beside it. Its version is left out: a server whose own counter starts again is believed from the next
 * visit on.
 */
import type { Clock } from "../clock.js";
import type { FormatArguments } from "../format.js";
import { DAMAGED, NEWER, type SegmentState, type StoredSnapshot } from "../storage/segment.js";
import type { SnapshotArguments } from "./engine-types.js";
import { checkParts } from "./snapshot.js";

/** Longest texts of shards, together (characters), that are kept. */
const MAX_CHARACTERS = 512 * 1024;
const VERSION = 1;
/** What marks a reference among shards. */
const MARK = "~";
const SEPARATOR = ".";

/** What is stored of a snapshot beside its shards' texts. */
interface Index {
  readonly version: number;
  readonly format: FormatArguments;
  /** What the engine told as `held`. */
  readonly held: string;
  readonly unseen: SnapshotArguments["unseen"];
  readonly forgetBefore?: number;
  /** By how much this device's clock was ahead of the server's, milliseconds. */
  readonly aheadMs?: number;
}

/** Remembers the texts of the shards in use: a snapshot may bring references alone. */
export class HeldSnapshot {
  private readonly clock: Clock;
  private index: Index | undefined;
  /** By reference, without the mark. */
  private texts: ReadonlyMap<string, string> = new Map();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** A snapshot is in use now. `held`: the references of its shards. */
  replace(snapshot: SnapshotArguments, held: string): void {
    const names = namesIn(held);
    const came = snapshot.shards.map((shard, place) => [names[place] ?? "", shard] as const);
    const texts = new Map([...this.texts, ...came.filter(([, shard]) => !shard.startsWith(MARK))]);
    this.restore(snapshot, texts, held);
  }

  /** The same with the texts of its shards by reference, others among them. */
  restore(
    { format, unseen, forgetBefore, nowMs }: SnapshotArguments,
    texts: ReadonlyMap<string, string>,
    held: string,
  ): void {
    const names = new Set(namesIn(held));
    const used = [...texts].filter(([name]) => names.has(name));
    const isTooLong = used.reduce((sum, [, text]) => sum + text.length, 0) > MAX_CHARACTERS;
    this.texts = new Map(isTooLong ? [] : used);
    this.index = isTooLong
      ? undefined
      : {
          version: VERSION,
          format,
          held,
          unseen,
          ...(Number.isNaN(forgetBefore) ? {} : { forgetBefore }),
          ...(Number.isNaN(nowMs) ? {} : { aheadMs: this.clock.wallMs() - nowMs }),
        };
  }

  /** What is to be stored, if the shards `held` are still in use; `undefined`: there is nothing, or it is too long. */
  toStored(held: string): StoredSnapshot | undefined {
    const { index, texts } = this;
    const isEmpty = held === "" && index?.unseen.length === 0;
    if (index?.held !== held || isEmpty) return undefined;
    return {
      index: toAscii(JSON.stringify(index)),
      shards: Array.from(texts, ([reference, text]) => ({ reference, text })),
    };
  }
}

/** Reads a stored snapshot. `texts`: those of its shards that were found, by reference; the others are left out. */
export function readStored(
  text: string,
  texts: ReadonlyMap<string, string>,
  wallMs: number,
): { readonly snapshot: SnapshotArguments; readonly held: string } | SegmentState {
  try {
    const { version, format, held, unseen, forgetBefore, aheadMs } = JSON.parse(text) as Index;
    if (version > VERSION) return NEWER;
    if (!isFormat(format)) return DAMAGED;
    const now = aheadMs === undefined ? undefined : (wallMs - aheadMs) / 1000;
    const shards = namesIn(held).flatMap((reference) => texts.get(reference) ?? []);
    return { snapshot: { ...checkParts({ shards, unseen, forgetBefore, now }), format, shards }, held };
  } catch {
    return DAMAGED;
  }
}

/** What it means, the engine knows. */
function isFormat(value: unknown): value is FormatArguments {
  return Array.isArray(value) && value.length === 3 && value.every((part) => typeof part === "number");
}

/** The references that a text of the engine's joins. */
function namesIn(held: string): string[] {
  return held === "" ? [] : held.split(SEPARATOR);
}

function toAscii(text: string): string {
  return text.replace(/[^\x20-\x7E]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
