/** The snapshot in use as it is stored: the next visit filters by it before the first response. */
import type { EngineGuard, SnapshotArguments } from "../engine/engine-guard.js";
import { isQuotaError, type StorageContext } from "./context.js";
import { under } from "./keys.js";

const FIRST_MS = 60_000;
/** The longest text that is stored. */
const MAX_CHARACTERS = 512 * 1024;

/** Stored as JSON, with `null` for NaN and without the version. */
interface Stored {
  readonly appliedAt: number;
  readonly snapshot: Omit<SnapshotArguments, "version">;
}

/** The latest snapshot that the engine has applied. */
export class LatestSnapshot {
  private readonly engine: EngineGuard;
  /** Differs from snapshot to snapshot; undefined: there is none. */
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

  /** Undefined: it is too long to be stored. */
  text(): string | undefined {
    const { inUse } = this;
    // Full texts of held shards in place of the references received.
    const shards = this.engine.shardTexts();
    if (!inUse || !shards) return undefined;
    const json = asAscii(JSON.stringify({ ...inUse, snapshot: { ...inUse.snapshot, shards } }));
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

/** Stores the latest snapshot: a minute after the first one was applied, at `flush`, and as the page hides. */
export class Snapshots {
  latest: LatestSnapshot | undefined;
  private saved: object | undefined;
  private isScheduled = false;
  /** Whether the storage was full on this visit: then none is stored. */
  private hasNoRoom = false;

  constructor(private readonly context: StorageContext) {}

  private get key(): string {
    return `${under(this.context.name, this.context.generation)}h`;
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
    const text = latest.text();
    try {
      const change = text === undefined ? { remove: [key] } : { set: [[key, text] as const] };
      if (await context.write(generation, change)) this.saved = used;
    } catch (cause) {
      // A later one is stored. That the storage fails is reported by what is saved.
      this.hasNoRoom ||= isQuotaError(cause);
    }
  }

  /** Removes the stored one, to make room. */
  remove(): Promise<void> {
    this.hasNoRoom = true;
    return this.context.call(this.context.store.write({ remove: [this.key] }));
  }
}

/** JSON with all non-ASCII characters escaped; they occur only within strings. */
function asAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
