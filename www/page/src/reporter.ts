/**
 * Tells the server what was seen: a plain POST a second, of what has not been accepted yet.
 *
 * A report that fails is sent again with the next one; the server takes an impression any number of times. What a closed
 * page could not send is still pending in the guard, and sent when the page is opened again.
 */
import type { Impression, SeenGuard } from "seenguard";
import type { Api } from "./api.ts";

const INTERVAL_MS = 1000;
const MOST_AT_ONCE = 500;

export class Reporter {
  private waiting: Impression[] = [];
  private busy = false;

  constructor(
    private readonly api: Api,
    guard: SeenGuard,
    private readonly onTrouble: (error: unknown) => void,
  ) {
    for (const id of guard.pending()) {
      const why = guard.explain(id);
      this.add(id, why.seen && why.by === "pending" ? why.at.getTime() : Date.now());
    }
    setInterval(() => void this.send(), INTERVAL_MS);
    addEventListener("pagehide", () => void this.send());
  }

  add(id: string, atMs = Date.now()): void {
    this.waiting.push({ id, at: atMs });
  }

  private async send(): Promise<void> {
    if (this.busy || this.waiting.length === 0) return;
    this.busy = true;
    const batch = this.waiting.slice(0, MOST_AT_ONCE);
    try {
      await this.api.report(batch);
      this.waiting = this.waiting.slice(batch.length);
    } catch (error) {
      this.onTrouble(error);
    } finally {
      this.busy = false;
    }
  }
}
