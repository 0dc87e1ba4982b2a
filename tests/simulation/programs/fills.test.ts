/**
 * Several callers fill a feed while some of them leave, pages come late or fail, and the list is reset. Each item that
 * was fresh as its page came is returned once, in order, and every call ends.
 */
import fc from "fast-check";
import type { Feed, FeedPage, PageRequest, SeenGuard } from "seenguard";
import { openTestGuard } from "seenguard/testing";
import { expect } from "vitest";
import { fallback, NOW, ON_ENGINE, settled } from "../../support/node.js";
import { countCommands, runPrograms } from "./programs.js";

/** The response of a source: a page and whether there is a next one, nothing, or an error. */
type Answer =
  | { readonly items: readonly string[]; readonly next: string | null; readonly degraded: boolean }
  | { readonly items?: undefined; readonly fails: boolean };

type Step =
  | { readonly do: "fill"; readonly want: number; readonly maxPages: number | undefined }
  | { readonly do: "leave"; readonly caller: number }
  | { readonly do: "answer"; readonly answer: Answer }
  | { readonly do: "record" | "unsee"; readonly ids: readonly string[] }
  | { readonly do: "reset" };

const ids = fc.array(fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"), { maxLength: 6 });
const answer: fc.Arbitrary<Answer> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      items: ids,
      next: fc.constantFrom("cursor" as const, "other" as const, "absent" as const, null),
      degraded: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ fails: fc.boolean() }) },
);
const fill = fc.record({
  do: fc.constant("fill" as const),
  want: fc.nat({ max: 6 }),
  maxPages: fc.constantFrom(undefined, 1, 3),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fill },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("leave" as const), caller: fc.nat({ max: 3 }) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("answer" as const), answer }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("record" as const, "unsee" as const), ids }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reset" as const) }) },
);

interface Waiting {
  readonly request: PageRequest;
  readonly answer: (answer: Answer) => void;
}

/** A source that responds on demand. */
function gatedSource() {
  const waiting: Waiting[] = [];
  const fetchPage = (request: PageRequest) =>
    new Promise<FeedPage<string> | null>((resolve, reject) => {
      const answer = (answer: Answer): void => {
        if (answer.items) {
          const { next, ...page } = answer;
          resolve(next === "absent" ? page : { ...page, next });
        } else if (answer.fails) reject(new Error("the server does not answer"));
        else resolve(null);
      };
      waiting.push({ request, answer });
    });
  /** Responds to the open request, of which there is at most one. Returns whether there is one. */
  const answerCurrent = (answer: Answer): boolean => {
    const wanted = waiting.filter(({ request }) => !request.signal.aborted);
    expect(wanted.length).toBeLessThanOrEqual(1);
    const [one] = wanted;
    if (one) waiting.splice(waiting.indexOf(one), 1);
    one?.answer(answer);
    return one !== undefined;
  };
  return { fetchPage, answerCurrent };
}

/** The fresh items of a list's pages, and those that callers got. */
class Items {
  readonly fresh: string[] = [];
  readonly brought: string[] = [];

  answered(items: readonly string[], seen: ReadonlySet<string>): void {
    for (const id of items) if (!seen.has(id) && !this.fresh.includes(id)) this.fresh.push(id);
  }

  /** Callers get all of them in order; some may still wait for a caller. */
  check(): void {
    expect(this.brought).toEqual(this.fresh.slice(0, this.brought.length));
  }
}

/** Waits until everything that follows from a step has run. The event loop has a turn between two pages. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await settled();
}

class Program {
  private readonly feed: Feed;
  private readonly seen = new Set<string>();
  private readonly source = gatedSource();
  private readonly callers: AbortController[] = [];
  private readonly open = new Set<number>();
  private items = new Items();

  constructor(private readonly guard: SeenGuard) {
    this.feed = guard.feed();
  }

  async take(step: Step): Promise<void> {
    if (step.do === "fill") this.fill(step.want, step.maxPages);
    else if (step.do === "leave") this.callers[step.caller]?.abort();
    else if (step.do === "answer") this.answer(step.answer);
    else if (step.do === "reset") {
      this.feed.reset();
      this.items = new Items();
    } else if (step.do === "record") {
      this.guard.record(step.ids);
      for (const id of step.ids) this.seen.add(id);
    } else {
      this.guard.unsee(step.ids);
      for (const id of step.ids) this.seen.delete(id);
    }
    await settle();
    this.items.check();
    if (step.do === "leave") expect(this.open).not.toContain(step.caller);
    if (step.do === "reset") expect(this.open.size).toBe(0);
  }

  private fill(want: number, maxPages: number | undefined): void {
    const controller = new AbortController();
    const caller = this.callers.push(controller) - 1;
    this.open.add(caller);
    const options = { signal: controller.signal, ...(maxPages && { maxPages }) };
    const end = () => this.open.delete(caller);
    void this.feed.fill(this.source.fetchPage, want, options).then((result) => {
      end();
      this.items.brought.push(...result.items);
      if (result.end === "filled") expect(result.items.length).toBeGreaterThanOrEqual(want);
    }, end);
  }

  private answer(answer: Answer): boolean {
    const isAnswered = this.source.answerCurrent(answer);
    if (isAnswered) this.items.answered(answer.items ?? [], this.seen);
    return isAnswered;
  }

  /** The source has nothing more: all calls end, and the last one gets what is left. */
  async finish(): Promise<void> {
    this.fill(100, undefined);
    await settle();
    while (this.answer({ fails: false })) await settle();
    expect(this.open.size).toBe(0);
    expect(this.items.brought).toEqual(this.items.fresh);
  }
}

runPrograms("filling a feed", () =>
  fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), async (steps) => {
    const guard = await openTestGuard({ now: NOW * 1000, fallback, ...ON_ENGINE });
    const program = new Program(guard);
    try {
      for (const step of steps) {
        countCommands();
        await program.take(step);
      }
      await program.finish();
    } finally {
      await guard.close();
    }
  }),
);
