/** What `Feed.fill` must ask for and bring, as plainly as it can be written. Ids are items. */

/** What a source answers: a page and whether there is a next one, nothing, or an error. */
export type Answer =
  | { readonly items: readonly string[]; readonly next: "cursor" | "untold" | null }
  | { readonly items?: undefined; readonly fails: boolean };

export interface Result {
  readonly items: readonly string[];
  readonly repeated: number;
  readonly pages: number;
  readonly stopped: number;
  readonly end: string;
  readonly done: boolean;
  readonly next: string | null | undefined;
}

interface Run {
  readonly want: number;
  /** How many of `heldBack` are of earlier runs. */
  readonly leftOver: number;
  readonly callers: Set<number>;
  readonly items: string[];
  pages: number;
  stopped: number;
}

const MAX_PAGES = 5;

export class FillModel {
  /** By id, when it was recorded. */
  readonly seen = new Map<string, number>();
  /** What each caller gets whose call has ended. */
  readonly results = new Map<number, Result>();
  /** The page that is asked for now; undefined: none. */
  asked: number | undefined;
  private run: Run | undefined;
  private page = 0;
  private hasEnded = false;
  private admitted = new Set<string>();
  private heldBack: string[] = [];
  /** What failed runs have left. */
  private left: string[] = [];
  private cursor: string | undefined;

  constructor(private readonly showsSeen: boolean) {}

  fill(caller: number, want: number): void {
    const leftOver = this.heldBack.length;
    if (!this.run) {
      this.run = { want, leftOver, callers: new Set(), items: this.left, pages: 0, stopped: 0 };
      this.left = [];
    }
    this.run.callers.add(caller);
    this.goOn(this.run);
  }

  leave(caller: number): void {
    const { run } = this;
    if (!run?.callers.delete(caller)) return;
    this.results.set(caller, this.resultOf(run, "aborted"));
    if (run.callers.size > 0) return;
    this.run = undefined;
    this.asked = undefined;
  }

  reset(): void {
    const { run } = this;
    this.page = 0;
    this.cursor = undefined;
    this.hasEnded = false;
    this.admitted = new Set();
    this.heldBack = [];
    this.left = [];
    if (run) this.end(run, "aborted");
  }

  answer(answer: Answer): void {
    const { run } = this;
    if (!run || this.asked === undefined) return;
    this.asked = undefined;
    if (!answer.items) {
      this.end(run, answer.fails ? "error" : "exhausted");
      return;
    }
    const { items, next } = answer;
    const isLast = next === null || (items.length === 0 && next === "untold");
    if (items.length > 0 || next !== "untold") this.page++;
    if (items.length > 0 || next !== "untold") this.cursor = next === "cursor" ? next : undefined;
    this.hasEnded = next === null;
    const fresh = [...new Set(items)].filter((id) => !this.seen.has(id) && !this.admitted.has(id));
    for (const id of fresh) this.admitted.add(id);
    if (this.showsSeen) {
      const held = [...new Set(items)].filter((id) => this.seen.has(id) && !this.admitted.has(id));
      for (const id of held) this.admitted.add(id);
      this.heldBack.push(...this.byTime(held));
    }
    run.items.push(...fresh);
    run.stopped += items.length - fresh.length;
    run.pages++;
    if (isLast && run.items.length < run.want) this.end(run, "exhausted");
    else this.goOn(run);
  }

  private goOn(run: Run): void {
    if (run.items.length >= run.want) this.end(run, "filled");
    else if (run.pages >= MAX_PAGES) this.end(run, "max-pages");
    else if (this.hasEnded) this.end(run, "exhausted");
    else this.asked = this.page;
  }

  private end(run: Run, end: string): void {
    this.run = undefined;
    this.asked = undefined;
    const missing = run.want - run.items.length;
    const taken = end === "exhausted" || end === "max-pages" ? this.byTime(this.heldBack).slice(0, missing) : [];
    const recent = this.heldBack.slice(run.leftOver).filter((id) => taken.includes(id));
    this.heldBack = this.heldBack.filter((id) => !taken.includes(id));
    run.items.push(...taken);
    run.stopped -= recent.length;
    if (end === "error") this.left = run.items.splice(0);
    for (const caller of run.callers) this.results.set(caller, { ...this.resultOf(run, end), repeated: taken.length });
  }

  /** What was taken back meanwhile, then what was seen longest ago. */
  private byTime(ids: readonly string[]): string[] {
    return ids.toSorted((a, b) => (this.seen.get(a) ?? 0) - (this.seen.get(b) ?? 0));
  }

  private resultOf({ items, pages, stopped }: Run, end: string): Result {
    const done = (this.hasEnded || end === "exhausted") && this.heldBack.length + this.left.length === 0;
    return { items: [...items], repeated: 0, pages, stopped, end, done, next: this.hasEnded ? null : this.cursor };
  }
}
