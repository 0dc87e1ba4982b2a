/**
 * The snapshot in use as it is stored, for the next visit: as it came, but with each shard by its reference, and the
 * shards' texts beside it. Its version is left out: a server whose own counter starts again is believed from the next
 * visit on.
 */
import type { FormatArguments } from "../format.js";
import { DAMAGED, NEWER, WHOLE, type SegmentState, type StoredSnapshot } from "../storage/segment.js";
import { checkParts } from "./snapshot.js";
import type { SnapshotArguments } from "./engine-types.js";

/** Longest texts of shards, together (characters), that are kept. */
const MAX_CHARACTERS = 512 * 1024;
const VERSION = 1;
const MARK = "~";

/** What is stored of a snapshot beside its shards' texts. */
interface Index {
  readonly version: number;
  readonly format: FormatArguments;
  /** The references of its shards, without the mark, newest first. */
  readonly shards: readonly string[];
  readonly unseen: SnapshotArguments["unseen"];
  readonly forgetBefore?: number;
  /** By how much this device's clock was ahead of the server's, milliseconds. */
  readonly aheadMs?: number;
}

/** What can be read of a stored snapshot. */
export interface ReadSnapshot {
  readonly state: SegmentState;
  readonly snapshot?: SnapshotArguments;
}

/** Remembers the texts of the shards in use: a snapshot may bring references alone. */
export class HeldSnapshot {
  private index: Index | undefined;
  private texts = new Map<string, string>();

  /** A snapshot is in use now. `held`: the references of its shards. */
  replace({ format, shards, unseen, forgetBefore, nowMs }: SnapshotArguments, held: string): void {
    const references = held === "" ? [] : held.split(".");
    const texts = new Map<string, string>();
    references.forEach((reference, place) => {
      const came = shards[place] ?? MARK;
      const text = came.startsWith(MARK) ? this.texts.get(reference) : came;
      if (text !== undefined) texts.set(reference, text);
    });
    const characters = [...texts.values()].reduce((sum, text) => sum + text.length, 0);
    const isTooLong = characters > MAX_CHARACTERS;
    this.texts = isTooLong ? new Map() : texts;
    this.index = isTooLong
      ? undefined
      : {
          version: VERSION,
          format,
          shards: references,
          unseen,
          ...(Number.isNaN(forgetBefore) ? {} : { forgetBefore }),
          ...(Number.isNaN(nowMs) ? {} : { aheadMs: Date.now() - nowMs }),
        };
  }

  /** What is to be stored, if the shards `held` are still in use; `undefined`: there is nothing, or it is too long. */
  toStored(held: string): StoredSnapshot | undefined {
    const { index, texts } = this;
    if (!index || index.shards.length + index.unseen.length === 0 || index.shards.join(".") !== held) return undefined;
    return {
      index: toAscii(JSON.stringify(index)),
      shards: Array.from(texts, ([reference, text]) => ({ reference, text })),
    };
  }
}

/** Reads a stored snapshot. `texts`: those of its shards that were found, by reference; the others are left out. */
export function readStored(text: string, texts: ReadonlyMap<string, string>): ReadSnapshot {
  try {
    const { version, format, shards, unseen, forgetBefore, aheadMs } = JSON.parse(text) as Index;
    if (version > VERSION) return { state: NEWER };
    const now = aheadMs === undefined ? undefined : (Date.now() - aheadMs) / 1000;
    const found = shards.flatMap((reference) => texts.get(reference) ?? []);
    const checked = checkParts({ shards: found, unseen, forgetBefore, now });
    return { state: WHOLE, snapshot: { ...checked, format, shards: found } };
  } catch {
    return { state: DAMAGED };
  }
}

function toAscii(text: string): string {
  return text.replace(/[^\x20-\x7E]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
