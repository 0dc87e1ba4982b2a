/** The snapshot in use as it is stored, for what is shown on the next visit before the first response. */
import type { NamespaceEngine } from "../engine/namespace-engine.js";
import type { SnapshotArguments } from "../engine/engine-types.js";
import type { StoredSnapshot } from "../storage/performer.js";

/** Longest text that is kept. */
const MAX_CHARACTERS = 512 * 1024;
const CHECKSUM_DIGITS = 8;

/** A checksum, 8 hexadecimal digits, and this as JSON, in which `null` stands for NaN. Its version is left out. */
interface Stored {
  readonly appliedAt: number;
  readonly snapshot: Omit<SnapshotArguments, "version">;
}

/** What an engine has applied last. */
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
      // In place of the references that came, the texts that are held.
      const shards = guard.shardTexts()?.split("\n").slice(0, -1);
      if (!shards) return undefined;
      const json = asAscii(JSON.stringify({ ...latest, snapshot: { ...latest.snapshot, shards } }));
      return json.length > MAX_CHARACTERS ? undefined : this.checksum(json) + json;
    });
  }

  /** One that is damaged is left out. */
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
      // A later version's, or of a format that this entry cannot read.
    }
  }

  private checksum(json: string): string {
    const { engine } = this;
    const sum = engine.call(() => engine.classes.checksum(json)) ?? 0;
    return sum.toString(16).padStart(CHECKSUM_DIGITS, "0");
  }
}

/** JSON with what is not ASCII, which stands in its texts alone, escaped. */
function asAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
