/**
 * A person in front of the demo's page, for tests: refreshes, scrolls, views items until they have counted, and has a
 * record of what was seen that is independent of the page's and the guard's.
 */
import { expect as impatient, type Locator, type Page } from "@playwright/test";

/** `expect` with a timeout for a busy machine. */
export const expect = impatient.configure({ timeout: 20_000 });

export type Side = "unguarded" | "guarded";
export type Counter = "impressions" | "repeats-unguarded" | "repeats-guarded" | "stopped" | "mistaken";
/** A term of the guard's panel. */
export type Fact = "Pending" | "Undelivered" | "False positives" | "Received" | "By reference";

/** Short, so that a test may look at hundreds of items. */
export const DWELL_MS = 120;

export class Reader {
  /** Items that were in view for long enough, by their own ids. */
  readonly looked = new Set<string>();
  /** All ids of these items. */
  readonly seen = new Set<string>();

  constructor(
    readonly page: Page,
    readonly address: string,
    readonly user: string,
  ) {}

  async open(): Promise<void> {
    await this.page.goto(`${this.address}?user=${this.user}&dwell=${String(DWELL_MS)}`);
    await this.settled();
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.settled();
  }

  async refresh(): Promise<void> {
    await this.page.getByRole("button", { name: "Refresh both feeds" }).click();
    await this.settled();
  }

  /** Opens an article of the guarded feed. */
  async openArticle(title: string): Promise<void> {
    await this.page.locator("#guarded").getByRole("link", { name: title, exact: true }).first().click();
    await expect(this.page.getByRole("link", { name: "Back to the feed" })).toBeVisible();
  }

  async goBack(): Promise<void> {
    await this.page.getByRole("link", { name: "Back to the feed" }).click();
    await this.settled();
  }

  /** Looks at what is in view, and at what is in view a little further down. */
  async look(): Promise<void> {
    await this.lookHere();
    await this.page.evaluate(() => {
      scrollBy({ top: 500, behavior: "instant" });
    });
    await this.lookHere();
  }

  /** The items in one of the two feeds, top to bottom. */
  items(side: Side): Locator {
    return this.page.locator(`.column[data-side="${side}"] [data-seen-id]`);
  }

  /** Their ids. */
  async shown(side: Side): Promise<string[]> {
    return (await idsOf(this.items(side))).map(([id = ""]) => id);
  }

  /** The items of which this person had seen any id before the list came. */
  async repeats(side: Side, seenBefore: ReadonlySet<string>): Promise<string[]> {
    const shown = await idsOf(this.items(side));
    return shown.filter((ids) => ids.some((id) => seenBefore.has(id))).map(([id = ""]) => id);
  }

  async counter(name: Counter): Promise<number> {
    return Number((await this.counterOf(name).textContent())?.replaceAll(",", ""));
  }

  counterOf(name: Counter): Locator {
    return this.page.locator(`#count-${name}`);
  }

  factOf(term: Fact): Locator {
    const row = this.panel.locator("dl > div").filter({ has: this.page.getByText(term, { exact: true }) });
    return row.locator("dd");
  }

  get panel(): Locator {
    return this.page.locator("seenguard-panel");
  }

  /** The values of a term in the guard's panel from now on. */
  async currentFactOf(term: Fact): Promise<Locator> {
    // The panel reads the guard every second, and moves the plot each time.
    const line = this.panel.locator("path.line");
    const before = await line.getAttribute("d");
    await expect(line).not.toHaveAttribute("d", before ?? "");
    return this.factOf(term);
  }

  async pending(): Promise<number> {
    return Number((await (await this.currentFactOf("Pending")).textContent())?.replaceAll(",", ""));
  }

  async expectNothingPending(options?: { timeout: number }): Promise<void> {
    await expect(await this.currentFactOf("Pending")).toHaveText("0", options);
  }

  /** Resolves when the stream runs or stands: over the service it is a process that ends or starts. */
  async setStream(running: boolean): Promise<void> {
    await this.changeStream(() => this.page.getByRole("switch", { name: "The stream" }).setChecked(running));
    await expect(this.page.locator("#running-text")).toHaveText(running ? "The stream runs" : "The stream is stopped");
  }

  /** Resolves when the server has the change. */
  async setLag(seconds: number): Promise<void> {
    await this.changeStream(() => this.page.getByRole("slider", { name: "Lag" }).fill(String(seconds)));
  }

  /** Makes a change, and resolves when the server has it. */
  protected async changeStream(change: () => Promise<void>): Promise<void> {
    const answer = this.page.waitForResponse(
      (response) => response.request().method() === "PUT" && response.url().endsWith("/stream"),
    );
    await change();
    expect((await answer).ok()).toBe(true);
  }

  /** Views items and refreshes until an item of the list was stopped. */
  async seeSomethingStopped(): Promise<void> {
    await this.look();
    await expect(async () => {
      await this.refresh();
      await expect(this.page.locator("#guarded .stopped li").first()).toBeAttached({ timeout: 100 });
      await this.look();
    }).toPass();
  }

  /** Refreshes and views items, `times` times. Returns how many repeats each feed showed. */
  async refreshAndLook(times: number): Promise<Record<Side, number>> {
    const repeats = { unguarded: 0, guarded: 0 };
    for (let time = 0; time < times; time++) {
      const seenBefore = new Set(this.seen);
      await this.refresh();
      await this.look();
      for (const side of ["unguarded", "guarded"] as const)
        repeats[side] += (await this.repeats(side, seenBefore)).length;
    }
    return repeats;
  }

  /**
   * Everything seen is pending. (So may be items that were in view long enough for the guard, but not for this record.)
   */
  async expectAllPending(): Promise<void> {
    await this.noteSeen();
    const pending = await this.pending();
    expect(pending).toBeGreaterThanOrEqual(this.seen.size);
    // An impression of a copy is one of its group, too.
    expect(pending).toBeLessThanOrEqual(2 * (await this.counter("impressions")));
  }

  private async settled(): Promise<void> {
    await expect(this.page.locator("#feeds:not([aria-busy]) .block").first()).toBeAttached();
  }

  /** Waits until each item that is mostly in view has counted. */
  private async lookHere(): Promise<void> {
    await expect.poll(() => this.page.evaluate(countUnseenInView)).toBe(0);
    await this.noteSeen();
    // The guard looks every 100 ms only: it is to count what this record has before anything moves.
    await this.page.waitForTimeout(2 * DWELL_MS);
  }

  private async noteSeen(): Promise<void> {
    for (const ids of await idsOf(this.page.locator(".looked-at"))) {
      for (const id of ids) this.seen.add(id);
      for (const id of ids.slice(0, 1)) this.looked.add(id);
    }
  }
}

/** Opens the list of stopped items, and the reason of the first one. */
export async function showWhy(page: Page): Promise<void> {
  await page
    .getByText(/^\d+ stopped$/)
    .first()
    .click();
  await page
    .getByRole("button", { name: /Why\?$/ })
    .first()
    .click();
}

/** Each item's own id and, for a copy, its group's. */
export async function idsOf(items: Locator): Promise<string[][]> {
  return items.evaluateAll((elements) =>
    elements.map((element) => ["data-seen-id", "data-group-id"].flatMap((name) => element.getAttribute(name) ?? [])),
  );
}

/** Runs in the page. */
function countUnseenInView(): number {
  return [...document.querySelectorAll("[data-seen-id]:not(.looked-at)")].filter((element) => {
    const { top, height } = element.getBoundingClientRect();
    const visible = Math.min(top + height, innerHeight) - Math.max(top, 0);
    return height > 0 && visible > height * 0.6;
  }).length;
}
