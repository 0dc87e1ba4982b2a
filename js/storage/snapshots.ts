/** Stores the snapshot in use: a minute after the first one was applied, at `flush`, and as the page hides. */
import { isQuotaError, type StorageContext } from "./context.js";
import { under } from "./keys.js";

const FIRST_MS = 60_000;

export class Snapshots {
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
    const { context, key } = this;
    const { snapshot, generation } = context;
    const latest = snapshot?.latest;
    if (!latest || latest === this.saved || this.hasNoRoom || !context.mayWrite()) return;
    const text = snapshot.text();
    try {
      const change = text === undefined ? { remove: [key] } : { set: [[key, text] as const] };
      if (await context.write(generation, change)) this.saved = latest;
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
