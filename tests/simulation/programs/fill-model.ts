/** What `Feed.fill` must ask for and bring, as plainly as it can be written. Ids are items. */

/** What a source answers: a page and whether there is a next one, nothing, or an error. */
export type Answer =
  | {
      readonly items: readonly string[];
      readonly next: "cursor" | "other" | "untold" | null;
      readonly degraded: boolean;
    }
  | { readonly items?: undefined; readonly fails: boolean };

/** What a call resolves to, or why it rejects. */
export type Result =
  | {
      readonly items: readonly string[];
      readonly end: string;
      readonly done: boolean;
      readonly next: string | null | undefined;
    }
  | { readonly rejects: "left" | "reset" | "failed" };

interface Call {
  readonly caller: number;
  readonly want: number;
  readonly maxPages: number | undefined;
  pages: number;
  degraded: number;
}

export class FillModel {
  readonly seen = new Set<string>();
  /** What each caller gets whose call has ended. */
  readonly results = new Map<number, Result>();
  private calls: Call[] = [];
  private page = 0;
  private cursor: string | undefined;
  private hasEnded = false;
  private stale = 0;
  private known = new Set<string>();
  private admitted = new Set<string>();
  private buffer: string[] = [];

  /** The page that is asked for now; undefined: none. */
  get asked(): number | undefined {
    return this.calls.length > 0 ? this.page : undefined;
  }

  fill(caller: number, want: number, maxPages: number | undefined): void {
    this.calls.push({ caller, want, maxPages, pages: 0, degraded: 0 });
    this.goOn();
  }

  leave(caller: number): void {
    const call = this.calls.find((each) => each.caller === caller);
    if (call) this.reject(call, "left");
    this.goOn();
  }

  reset(): void {
    for (const call of this.calls) this.reject(call, "reset");
    this.page = 0;
    this.cursor = undefined;
    this.hasEnded = false;
    this.stale = 0;
    this.known = new Set();
    this.admitted = new Set();
    this.buffer = [];
  }

  answer(answer: Answer): void {
    const [call] = this.calls;
    if (!call) return;
    if (answer.items) this.take(call, answer);
    else if (answer.fails) this.reject(call, "failed");
    else this.hasEnded = true;
    this.goOn();
  }

  private take(call: Call, { items, next, degraded }: Answer & { items: readonly string[] }): void {
    const hasMoved = next !== "untold" && next !== this.cursor;
    this.stale = hasMoved || items.some((id) => !this.known.has(id)) ? 0 : this.stale + 1;
    this.hasEnded = next === null || (items.length === 0 && next === "untold") || this.stale === 3;
    this.cursor = next === "untold" || next === null ? undefined : next;
    this.page++;
    for (const id of items) {
      this.known.add(id);
      if (this.seen.has(id) || this.admitted.has(id)) continue;
      this.admitted.add(id);
      this.buffer.push(id);
    }
    call.pages++;
    call.degraded = degraded ? call.degraded + 1 : 0;
  }

  /** Ends the calls that need nothing more. */
  private goOn(): void {
    for (const call of this.calls) {
      const mostPages = call.maxPages ?? (this.buffer.length > 0 ? 5 : 20);
      if (this.buffer.length >= call.want) this.end(call, "filled");
      else if (this.hasEnded) this.end(call, "exhausted");
      else if (call.degraded === 2) this.end(call, "degraded");
      else if (call.pages >= mostPages) this.end(call, "max-pages");
      else return;
    }
  }

  private end(call: Call, end: string): void {
    const next = this.hasEnded ? null : this.cursor;
    this.results.set(call.caller, { items: this.buffer, end, done: this.hasEnded, next });
    this.calls = this.calls.filter((each) => each !== call);
    this.buffer = [];
  }

  private reject(call: Call, rejects: "left" | "reset" | "failed"): void {
    this.results.set(call.caller, { rejects });
    this.calls = this.calls.filter((each) => each !== call);
  }
}
