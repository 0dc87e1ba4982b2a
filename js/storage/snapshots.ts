/** Stores the snapshot in use: the next visit filters by it until its first response. */
import type { EngineGuard, SnapshotArguments } from "../engine/engine-guard.js";
import { isQuotaError, type StorageContext } from "./context.js";
import { generationPrefixOf } from "./keys.js";

/** The delay from the first snapshot of a visit until it is stored. */
const FIRST_MS = 60_000;
/** The longest JSON that is stored. */
const MAX_CHARACTERS = 512 * 1024;

/** Stored as JSON, with `null` for NaN and without the version. */
interface Stored {
  readonly appliedAt: number;
  readonly snapshot: Omit<SnapshotArguments, "version">;
}

/** The latest snapshot that the engine has applied. */
export class LatestSnapshot {
  private readonly engine: EngineGuard;
  /** A new object for each snapshot; undefined: there is none. */
  inUse: Stored | undefined;

  constructor(engine: EngineGuard) {
    this.engine = engine;
  }

  note({ format, nowMs, unseen, forgetBefore }: SnapshotArguments, appliedAt: number): void {
    this.inUse = { appliedAt, snapshot: { format, shards: [], nowMs, unseen, forgetBefore } };
  }

  /** The namespace was cleared. */
  forget(): void {
    this.inUse = undefined;
  }

  /** The JSON to store; undefined: it is too long. */
  toJson(): string | undefined {
    const { inUse } = this;
    // The shards themselves: the next visit cannot resolve the references received.
    const shards = this.engine.encodedShards();
    if (!inUse || !shards) return undefined;
    const json = asAscii(JSON.stringify({ ...inUse, snapshot: { ...inUse.snapshot, shards } }));
    return json.length > MAX_CHARACTERS ? undefined : json;
  }

  /** Applies a stored snapshot; ignores a damaged one. */
  restore(json: string): void {
    const { engine } = this;
    try {
      const { appliedAt, snapshot } = JSON.parse(json) as Stored;
      const { format, shards, unseen, nowMs, forgetBefore } = snapshot;
      const ageMs = (engine.call((_, wallMs) => wallMs) ?? appliedAt) - appliedAt;
      const numberOf = (value: number | null) => value ?? NaN;
      const times = { nowMs: numberOf(nowMs) + ageMs, forgetBefore: numberOf(forgetBefore) };
      engine.apply({ format, shards, unseen, version: NaN, ...times }, true, false);
    } catch {
      // It is of a later version, or of a format that this entry cannot read.
    }
  }
}

/** Stores the latest snapshot: a minute after the first one was applied, at `flush`, and as the page hides. */
export class Snapshots {
  latest: LatestSnapshot | undefined;
  private saved: object | undefined;
  private isScheduled = false;
  /** Whether the storage was full on this visit: then none is stored. */
  private hasNoRoom = false;

  constructor(private readonly context: StorageContext) {}

  private get key(): string {
    return `${generationPrefixOf(this.context.name, this.context.generation)}h`;
  }

  /** A snapshot was applied. */
  changed(): void {
    if (!this.isScheduled) this.context.timers.after(FIRST_MS, () => void this.save());
    this.isScheduled = true;
  }

  async save(): Promise<void> {
    const { context, key, latest } = this;
    const { generation } = context;
    const used = latest?.inUse;
    if (!used || used === this.saved || this.hasNoRoom || !context.mayWrite()) return;
    const json = latest.toJson();
    try {
      const change = json === undefined ? { remove: [key] } : { set: [[key, json] as const] };
      if (await context.write(generation, change)) this.saved = used;
    } catch (cause) {
      // A later snapshot is tried again. The saver reports that the storage fails.
      this.hasNoRoom ||= isQuotaError(cause);
    }
  }

  /** Removes the stored snapshot, to make room. */
  remove(): Promise<void> {
    this.hasNoRoom = true;
    return this.context.call(this.context.store.write({ remove: [this.key] }));
  }
}

/** JSON with all non-ASCII characters escaped; they occur only within strings. */
function asAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
