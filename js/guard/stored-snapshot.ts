/** The snapshot in use as it is stored: the next visit filters by it before the first response. */
import type { EngineGuard } from "../engine/engine-guard.js";
import type { SnapshotArguments } from "../engine/engine-types.js";
import type { StoredSnapshot } from "../storage/storage.js";

/** The longest text that is stored. */
const MAX_CHARACTERS = 512 * 1024;

/** Stored as JSON, with `null` for NaN and without the version. */
interface Stored {
  readonly appliedAt: number;
  readonly snapshot: Omit<SnapshotArguments, "version">;
}

/** The latest snapshot that the engine has applied. */
export class LatestSnapshot implements StoredSnapshot {
  private readonly engine: EngineGuard;
  latest: Stored | undefined;

  constructor(engine: EngineGuard) {
    this.engine = engine;
  }

  note({ format, nowMs, unseen, forgetBefore }: SnapshotArguments, appliedAt: number): void {
    this.latest = { appliedAt, snapshot: { format, shards: [], nowMs, unseen, forgetBefore } };
  }

  /** The namespace was cleared. */
  forget(): void {
    this.latest = undefined;
  }

  text(): string | undefined {
    const { latest } = this;
    // Full texts of held shards in place of the references received.
    const shards = this.engine
      .call((guard) => guard.shardTexts())
      ?.split("\n")
      .slice(0, -1);
    if (!latest || !shards) return undefined;
    const json = asAscii(JSON.stringify({ ...latest, snapshot: { ...latest.snapshot, shards } }));
    return json.length > MAX_CHARACTERS ? undefined : json;
  }

  /** Applies a stored snapshot; ignores a damaged one. */
  restore(text: string): void {
    const { engine } = this;
    try {
      const { appliedAt, snapshot } = JSON.parse(text) as Stored;
      const { format, shards, unseen, nowMs, forgetBefore } = snapshot;
      const agoMs = (engine.call((_, wallMs) => wallMs) ?? appliedAt) - appliedAt;
      const numberOf = (value: number | null) => value ?? NaN;
      const then = { nowMs: numberOf(nowMs) + agoMs, forgetBefore: numberOf(forgetBefore) };
      engine.apply({ format, shards, unseen, version: NaN, ...then }, true);
    } catch {
      // It is of a later version, or of a format that this entry cannot read.
    }
  }
}

/** JSON with all non-ASCII characters escaped; they occur only within strings. */
function asAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
