/** A person who uses the app, with an independent list of the seen stories. */
import { setTimeout as pause } from "node:timers/promises";
import { expect as impatient } from "@playwright/test";

/** A webview starts slowly on a busy machine. */
const expect = impatient.configure({ timeout: 60_000 });

/** A webview with the app in it, or a stand-in for one. */
export interface Shell {
  /** Runs a function in the page, with its argument. */
  evaluate<T, A = undefined>(run: (argument: A) => T | Promise<T>, argument?: A): Promise<T>;
  /** Pulls the list down by touch. */
  pull(): Promise<void>;
}

/** 1.5 times the guard's dwell time. */
const LOOK_MS = 1_500;

export class Reader {
  /** Stories that were in view for long enough. */
  readonly seen = new Set<string>();

  constructor(private readonly shell: Shell) {}

  /** Stories that another webview of this person has shown, too. */
  continue(shell: Shell): Reader {
    const reader = new Reader(shell);
    for (const title of this.seen) reader.seen.add(title);
    return reader;
  }

  async signIn(name: string): Promise<void> {
    await expect.poll(() => this.shell.evaluate(() => document.querySelector("ion-input input") !== null)).toBe(true);
    await this.shell.evaluate((name) => {
      const input = document.querySelector<HTMLInputElement>("ion-input input");
      if (input === null) throw new Error("no field");
      input.value = name;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, name);
    await this.press("Sign in");
    await this.hasStories();
  }

  /** Presses a button once it can be pressed. */
  async press(label: string): Promise<void> {
    const press = (label: string) => {
      const buttons = [...document.querySelectorAll<HTMLButtonElement>("ion-button")];
      const button = buttons.find(({ textContent, disabled }) => textContent.trim() === label && !disabled);
      button?.click();
      return button !== undefined;
    };
    await expect.poll(() => this.shell.evaluate(press, label)).toBe(true);
  }

  async hasStories(): Promise<void> {
    await expect.poll(async () => (await this.titles()).length).toBeGreaterThan(0);
  }

  /** The list, whether in view or not. */
  titles(): Promise<string[]> {
    return this.shell.evaluate(() =>
      [...document.querySelectorAll("ion-list ion-item")].map(({ textContent }) => textContent),
    );
  }

  /** Stories of the list that were seen before. */
  async repeated(): Promise<string[]> {
    return (await this.titles()).filter((title) => this.seen.has(title));
  }

  /** Waits until the stories in view have counted. Returns them. */
  async look(): Promise<string[]> {
    await this.hasStories();
    await this.stands();
    const before = await this.inView();
    await pause(LOOK_MS);
    const after = await this.inView();
    const titles = before.filter((title) => after.includes(title));
    expect(titles.length).toBeGreaterThan(5);
    for (const title of titles) this.seen.add(title);
    return titles;
  }

  /** Scrolls until the list is longer, and to the story that was just below the view. */
  async scroll(): Promise<void> {
    const before = await this.titles();
    const last = (await this.inView()).at(-1);
    const toEnd = () => (document.querySelector("ion-content") as unknown as Content).scrollToBottom(0);
    await this.shell.evaluate(toEnd);
    await expect.poll(async () => (await this.titles()).length).toBeGreaterThan(before.length);
    await this.shell.evaluate(async (last) => {
      const items = [...document.querySelectorAll<HTMLElement>("ion-list ion-item")];
      const below = items[items.findIndex(({ textContent }) => textContent === last) + 1];
      const content = document.querySelector("ion-content") as unknown as Content;
      await content.scrollToPoint(0, below?.offsetTop ?? 0, 0);
    }, last);
  }

  /** Pulls to refresh: another list replaces this one. */
  async refresh(): Promise<void> {
    const [first] = await this.titles();
    await this.shell.evaluate(() => (document.querySelector("ion-content") as unknown as Content).scrollToTop(0));
    await this.shell.pull();
    await expect.poll(async () => (await this.titles())[0]).not.toBe(first);
  }

  /** Resolves when nothing moves any more. */
  private async stands(): Promise<void> {
    let before: unknown[] | undefined;
    await expect(async () => {
      const now = await this.inView();
      const same = JSON.stringify(now) === JSON.stringify(before);
      before = now;
      expect(same && now.length > 0).toBe(true);
    }).toPass({ intervals: [100] });
  }

  private inView(): Promise<string[]> {
    return this.shell.evaluate(() => {
      const content = document.querySelector("ion-content");
      if (content === null) return [];
      const view = content.getBoundingClientRect();
      return [...document.querySelectorAll("ion-list ion-item")].flatMap((item) => {
        const { top, bottom, height } = item.getBoundingClientRect();
        const visible = Math.min(bottom, view.bottom) - Math.max(top, view.top);
        return height > 0 && visible > height * 0.9 ? [item.textContent] : [];
      });
    });
  }
}

interface Content {
  scrollToBottom(ms: number): Promise<void>;
  scrollToPoint(x: number, y: number, ms: number): Promise<void>;
  scrollToTop(ms: number): Promise<void>;
}

/** The id of a story that is shown by its title. */
export const idOf = (title: string): string => title.toLowerCase().replace(" ", "-");
