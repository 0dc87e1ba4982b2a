/**
 * Failures that a person can cause besides the stream: the server's store is flushed, a second tab opens, the storage is
 * full.
 */
import type { SeenGuard } from "seenguard";
import type { Api } from "./api.ts";
import { one } from "./column.ts";
import { newReader } from "./experiment.ts";
import { fillStorage, freeStorage } from "./storage-quota.ts";
import { clearNotice } from "./notices.ts";
import { storageState } from "./format.ts";

export interface ConditionsParts {
  readonly api: Api;
  readonly guard: SeenGuard;
  readonly onTrouble: (error: unknown) => void;
}

const REFRESH_MS = 1000;

export class Conditions {
  private readonly fill = one(document, "#fill-storage") as HTMLButtonElement;
  private readonly free = one(document, "#free-storage") as HTMLButtonElement;

  constructor(private readonly parts: ConditionsParts) {
    one(document, "#flush-store").addEventListener("click", () => void this.flushStore());
    one(document, "#second-tab").addEventListener("click", () => {
      // Without an opener, it is a tab of its own, as if the person had typed the address.
      window.open(location.href, "_blank", "noopener");
    });
    this.fill.addEventListener("click", () => void this.withStorage(() => this.fillUp()));
    this.free.addEventListener("click", () => void this.withStorage(() => this.freeUp()));
    setInterval(() => this.showStorage(), REFRESH_MS);
  }

  private async flushStore(): Promise<void> {
    try {
      await this.parts.api.flush();
      write("#flush-said", "Flushed: the server's store is empty for you.");
    } catch (error) {
      this.parts.onTrouble(error);
    }
  }

  private async fillUp(): Promise<string> {
    const isLocal = new URL(location.href).searchParams.get("storage") === "local";
    const outcome = await fillStorage(isLocal ? "local" : "indexeddb", (done) => write("#fill-said", done));
    const start = one(document, "#small-storage") as HTMLAnchorElement;
    start.hidden = outcome.filled;
    start.href = smallStorageAddress();
    return outcome.message;
  }

  private async freeUp(): Promise<string> {
    await freeStorage();
    return "There is space again; unsaved impressions are written within seconds.";
  }

  private async withStorage(change: () => Promise<string>): Promise<void> {
    this.fill.disabled = true;
    this.free.disabled = true;
    try {
      write("#fill-said", await change());
    } catch (error) {
      write("#fill-said", `That did not work: ${String(error)}`);
    } finally {
      this.fill.disabled = false;
      this.free.disabled = false;
    }
  }

  private showStorage(): void {
    const { storage } = this.parts.guard.stats();
    write("#storage-state", storageState(storage));
    // There is space again, and unsaved impressions are written.
    if (storage !== "full") clearNotice("guard storage");
  }
}

/** The address for another reader, since this one's impressions are in the large storage. */
function smallStorageAddress(): string {
  const address = new URL(location.href);
  address.searchParams.set("user", newReader());
  address.searchParams.set("storage", "local");
  return address.href;
}

function write(selector: string, text: string): void {
  const element = one(document, selector);
  if (element.textContent !== text) element.textContent = text;
}
