/** The snapshot in use as it is stored: the next visit filters by it before the first response. */
import type { NamespaceEngine } from "../engine/namespace-engine.js";
import type { SnapshotArguments } from "../engine/engine-types.js";
import type { StoredSnapshot } from "../storage/performer.js";

/** The longest text that is stored. */
const MAX_CHARACTERS = 512 * 1024;
const CHECKSUM_DIGITS = 8;

/** Stored as a checksum of 8 hexadecimal digits and this as JSON, with `null` for NaN and without the version. */
interface Stored {
  readonly appliedAt: number;
  readonly snapshot: Omit<SnapshotArguments, "version">;
}

/** The latest snapshot that the engine has applied. */
export class LatestSnapshot implements StoredSnapshot {
  private readonly engine: NamespaceEngine;
  private latest: Stored | undefined;

  constructor(engine: NamespaceEngine) {
    this.engine = engine;
  }

  note({ format, nowMs, unseen, forgetBefore }: SnapshotArguments, appliedAt: number): void {
    this.latest = { appliedAt, snapshot: { format, shards: [], nowMs, unseen, forgetBefore } };
  }

  text(): string | undefined {
    const { latest } = this;
    if (!latest) return undefined;
    return this.engine.call((guard) => {
      // Full texts of held shards in place of the references received.
      const shards = guard.shardTexts()?.split("\n").slice(0, -1);
      if (!shards) return undefined;
      const json = asAscii(JSON.stringify({ ...latest, snapshot: { ...latest.snapshot, shards } }));
      return json.length > MAX_CHARACTERS ? undefined : this.checksum(json) + json;
    });
  }

  /** Applies a stored snapshot; ignores a damaged one. */
  restore(text: string): void {
    const json = text.slice(CHECKSUM_DIGITS);
    if (text.slice(0, CHECKSUM_DIGITS) !== this.checksum(json)) return;
    const { engine } = this;
    try {
      const { appliedAt, snapshot } = JSON.parse(json) as Stored;
      const { format, shards, unseen, nowMs, forgetBefore } = snapshot;
      const agoMs = (engine.call((_, wallMs) => wallMs) ?? appliedAt) - appliedAt;
      const numberOf = (value: number | null) => value ?? NaN;
      const then = { nowMs: numberOf(nowMs) + agoMs, forgetBefore: numberOf(forgetBefore) };
      engine.apply({ format, shards, unseen, version: NaN, ...then }, true);
    } catch {
      // It is of a later version, or of a format that this entry cannot read.
    }
  }

  private checksum(json: string): string {
    const { engine } = this;
    const sum = engine.call(() => engine.classes.checksum(json)) ?? 0;
    return sum.toString(16).padStart(CHECKSUM_DIGITS, "0");
  }
}

/** JSON with all non-ASCII characters escaped; they occur only within strings. */
function asAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
