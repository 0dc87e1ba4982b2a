/** The list of docs/frameworks.md. */
import { afterRenderEffect, Component, ElementRef, input, signal, viewChild } from "@angular/core";
import { SeenGuard, type Feed, type FeedPage, type PageRequest } from "seenguard";

interface Item {
  readonly id: string;
  readonly title: string;
}

@Component({
  selector: "app-feed",
  template: `
    <ol #list>
      @for (item of items(); track item.id) {
        <li [attr.data-seen-id]="item.id">{{ item.title }}</li>
      }
    </ol>
    @if (failed()) {
      <p>The feed cannot be loaded.</p>
    }
    @if (done()) {
      <p>That is all.</p>
    } @else {
      <button [disabled]="loading()" (click)="more()">More</button>
    }
  `,
})
export class SeenFeed {
  readonly userId = input.required<string>();
  protected readonly items = signal<readonly Item[]>([]);
  protected readonly loading = signal(true);
  protected readonly failed = signal(false);
  protected readonly done = signal(false);
  private readonly list = viewChild.required<ElementRef<HTMLElement>>("list");
  private feed?: Promise<Feed>;

  constructor() {
    // In the browser alone, and again for another person.
    afterRenderEffect((onCleanup) => {
      const list = this.list().nativeElement;
      const opening = SeenGuard.open({ namespace: `home:${this.userId()}` });
      this.feed = opening.then((guard) => {
        guard.observe(list); // records an item when half of it has been in view for a second
        guard.report({ url: "/api/impressions" });
        return guard.feed();
      });
      this.items.set([]);
      void this.more();
      onCleanup(() => void opening.then((guard) => guard.close()));
    });
  }

  protected async more(): Promise<void> {
    this.loading.set(true);
    const { feed } = this;
    const result = await (await feed)?.fill(fetchPage, 10); // 10 fresh items or more
    if (!result || feed !== this.feed) return; // another person's by now
    this.items.update((items) => [...items, ...result.items]);
    this.failed.set(result.end === "error");
    this.done.set(result.done);
    this.loading.set(false);
  }
}

async function fetchPage({ cursor = "", headers, signal }: PageRequest): Promise<FeedPage<Item>> {
  const response = await fetch(`/api/feed?cursor=${cursor}`, { headers, signal });
  return (await response.json()) as FeedPage<Item>; // { items, snapshot, next }
}
