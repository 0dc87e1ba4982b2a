/**
 * Stores the list on the page, as an app stores its items: after back navigation from an article the same items are shown
 * at the same scroll position. The guard stores their verdicts under the feed's key.
 */
import type { Item } from "./api.ts";
import { onDevice } from "./device.ts";

export interface ShownItem extends Item {
  /** When it was seen before it was shown: then showing it is a repeat. */
  readonly seenAt?: number;
  /** Another device has shown it, and the guarded feed leaves it out. */
  readonly isElsewhere?: true;
}

export interface StoredPage {
  /** The items as received from the server. */
  readonly arrived: readonly ShownItem[];
  /** The items passed to the guarded feed. */
  readonly offered: readonly ShownItem[];
  /** How many of these, at the end, were seen before and are shown nonetheless. */
  readonly repeated: number;
}

interface StoredState {
  readonly fromPool: boolean;
  readonly pages: StoredPage[];
  readonly scrollY: number;
}

export class StoredList {
  private fromPool = false;
  private pages: StoredPage[] = [];

  constructor(private readonly user: string) {
    history.scrollRestoration = "manual";
    addEventListener("pagehide", () => this.save());
    document.addEventListener("visibilitychange", () => this.save());
  }

  begin(fromPool: boolean): void {
    this.fromPool = fromPool;
    this.pages = [];
  }

  add(page: StoredPage): void {
    this.pages.push(page);
    this.save();
  }

  /** An item is unseen: showing it is not a repeat any more. */
  unsee(id: string): void {
    const cleared = (items: readonly ShownItem[]): ShownItem[] =>
      items.map((item) => (item.id === id ? withoutMarks(item) : item));
    this.pages = this.pages.map((page) => ({ ...page, offered: cleared(page.offered) }));
    this.save();
  }

  /** What an earlier document of this tab has stored, if this one replaces it. */
  restore(): StoredState | undefined {
    if (!isReturn()) return undefined;
    try {
      const stored = JSON.parse(sessionStorage.getItem(this.key) ?? "") as Partial<StoredState>;
      return stored.pages === undefined || stored.pages.length === 0 ? undefined : (stored as StoredState);
    } catch {
      return undefined;
    }
  }

  private save(): void {
    const stored: StoredState = { fromPool: this.fromPool, pages: this.pages, scrollY };
    try {
      sessionStorage.setItem(this.key, JSON.stringify(stored));
    } catch {
      // If it does not fit, back navigation begins a new list.
    }
  }

  private get key(): string {
    return onDevice(`demo-list:${this.user}`);
  }
}

/** The item as it is shown again. */
export function withoutMarks({ seenAt: _seenAt, isElsewhere: _isElsewhere, ...item }: ShownItem): ShownItem {
  return item;
}

/** Whether this document is shown by back navigation; a reload begins a new list. */
function isReturn(): boolean {
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return navigation?.type === "back_forward";
}
