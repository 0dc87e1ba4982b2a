/** A feed that several callers fill, while callers leave, pages come late or fail, and the list is reset. */
import fc from "fast-check";
import type { FeedPage, PageRequest } from "seenguard";
import { openTestGuard } from "seenguard/testing";
import { expect } from "vitest";
import { fallback, NOW, ON_ENGINE, settled } from "../../support/node.js";
import { FillModel, type Answer, type Result } from "./fill-model.js";
import { countCommands, runPrograms } from "./programs.js";

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
      next: fc.constantFrom("cursor" as const, "other" as const, "untold" as const, null),
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

const NO_ANSWER = new Error("the server does not answer");
const LEFT = new Error("the caller has left");

/** Which of the errors it is with which a call may reject. */
function reasonOf(error: unknown): "left" | "reset" | "failed" {
  if (error === LEFT || error === NO_ANSWER) return error === LEFT ? "left" : "failed";
  expect(error).toMatchObject({ name: "AbortError" });
  return "reset";
}

interface Waiting {
  readonly request: PageRequest;
  readonly answer: (answer: Answer) => void;
}

/** A source that answers when it is told to. */
function gatedSource() {
  const waiting: Waiting[] = [];
  const fetchPage = (request: PageRequest) =>
    new Promise<FeedPage<string> | null>((resolve, reject) => {
      const answer = (answer: Answer): void => {
        if (answer.items) {
          const { next, ...page } = answer;
          resolve(next === "untold" ? page : { ...page, next });
        } else if (answer.fails) reject(NO_ANSWER);
        else resolve(null);
      };
      waiting.push({ request, answer });
    });
  /** The request that somebody still waits for. At most one is made at a time. */
  const current = () => {
    const wanted = waiting.filter(({ request }) => !request.signal.aborted);
    expect(wanted.length).toBeLessThanOrEqual(1);
    return wanted[0];
  };
  const answerCurrent = (answer: Answer) => {
    const one = current();
    if (!one) return;
    waiting.splice(waiting.indexOf(one), 1);
    one.answer(answer);
  };
  return { fetchPage, current, answerCurrent };
}

runPrograms("filling a feed", () =>
  fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), async (steps) => {
    const guard = await openTestGuard({ now: NOW * 1000, fallback, ...ON_ENGINE });
    const feed = guard.feed();
    const model = new FillModel();
    const source = gatedSource();
    const callers: AbortController[] = [];
    const results = new Map<number, Result>();

    const fill = (want: number, maxPages: number | undefined): void => {
      const controller = new AbortController();
      const caller = callers.push(controller) - 1;
      const filling = feed.fill(source.fetchPage, want, { signal: controller.signal, ...(maxPages && { maxPages }) });
      void filling.then(
        (result) => results.set(caller, result),
        (error: unknown) => results.set(caller, { rejects: reasonOf(error) }),
      );
      model.fill(caller, want, maxPages);
    };
    const perform = (step: Step): void => {
      if (step.do === "fill") fill(step.want, step.maxPages);
      else if (step.do === "leave") {
        callers[step.caller]?.abort(LEFT);
        model.leave(step.caller);
      } else if (step.do === "answer") {
        source.answerCurrent(step.answer);
        model.answer(step.answer);
      } else if (step.do === "reset") {
        feed.reset();
        model.reset();
      } else if (step.do === "record") {
        guard.record(step.ids);
        for (const id of step.ids) model.seen.add(id);
      } else {
        guard.unsee(step.ids);
        for (const id of step.ids) model.seen.delete(id);
      }
    };

    try {
      for (const step of steps) {
        countCommands();
        perform(step);
        // The event loop has a turn between two pages.
        for (let turn = 0; turn < 3; turn++) await settled();
        expect(source.current()?.request.page).toBe(model.asked);
        expect(results).toEqual(model.results);
      }
    } finally {
      await guard.close();
    }
  }),
);
