/**
 * The list that is on the page, as an app keeps its items: on the way back from an article the same items are shown in
 * the same place. The guard keeps its verdicts on them by the feed's key.
 */
import type { Item } from "./api.ts";
import { onDevice } from "./device.ts";

export interface ShownItem extends Item {
  /** When it was seen before it was shown: then showing it is a repeat. */
  readonly seenAt?: number;
  /** Another device has shown it, and the guarded feed leaves it out. */
  readonly isElsewhere?: true;
}

export interface KeptPage {
  /** As it came from the server. */
  readonly arrived: readonly ShownItem[];
  /** What the guarded feed was given. */
  readonly offered: readonly ShownItem[];
  /** How many of these, at the end, were seen before and are shown all the same. */
  readonly repeated: number;
}

interface Kept {
  readonly fromPool: boolean;
  readonly pages: KeptPage[];
  readonly scrollY: number;
}

export class KeptList {
  private fromPool = false;
  private pages: KeptPage[] = [];

  constructor(private readonly user: string) {
    history.scrollRestoration = "manual";
    addEventListener("pagehide", () => this.save());
    document.addEventListener("visibilitychange", () => this.save());
  }

  begin(fromPool: boolean): void {
    this.fromPool = fromPool;
    this.pages = [];
  }

  add(page: KeptPage): void {
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

  /** What an earlier document of this tab has kept, if this one takes its place. */
  restore(): Kept | undefined {
    if (!isReturn()) return undefined;
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.key) ?? "") as Partial<Kept>;
      return kept.pages === undefined || kept.pages.length === 0 ? undefined : (kept as Kept);
    } catch {
      return undefined;
    }
  }

  private save(): void {
    const kept: Kept = { fromPool: this.fromPool, pages: this.pages, scrollY };
    try {
      sessionStorage.setItem(this.key, JSON.stringify(kept));
    } catch {
      // Without room for it, the way back brings a new list.
    }
  }

  private get key(): string {
    return onDevice(`demo-list:${this.user}`);
  }
}

/** As it is to be shown again. */
export function withoutMarks({ seenAt: _seenAt, isElsewhere: _isElsewhere, ...item }: ShownItem): ShownItem {
  return item;
}

/** A way back in the history: a reload begins a new list. */
function isReturn(): boolean {
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return navigation?.type === "back_forward";
}
