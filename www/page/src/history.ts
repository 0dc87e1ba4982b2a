/** The person's controls of the history: deleting it, and reading on in a small pool. */
import type { Api } from "./api.ts";
import { one } from "./column.ts";
import type { Feeds } from "./feeds.ts";

export interface HistoryParts {
  readonly api: Api;
  readonly feeds: Feeds;
  readonly onTrouble: (error: unknown) => void;
}

export function wireHistory({ api, feeds, onTrouble }: HistoryParts): void {
  const small = one(document, "#small-pool") as HTMLInputElement;
  small.addEventListener("change", () => void feeds.refresh(small.checked));
  one(document, "#delete-history").addEventListener("click", () => {
    void deleteHistory().catch(onTrouble);
  });

  async function deleteHistory(): Promise<void> {
    await api.deleteHistory();
    // The response with the next page deletes it on this device, too.
    await feeds.refresh();
    one(document, "#history-said").textContent = "Deleted: nothing counts as seen any more.";
  }
}

/** Sets the switch to the list's source, also after a reload. */
export function showPool(feeds: Feeds): void {
  (one(document, "#small-pool") as HTMLInputElement).checked = feeds.isFromPool;
}
