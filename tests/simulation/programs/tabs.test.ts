/**
 * Several tabs of one namespace over a storage that answers in any order: they open, record, take back, clear, flush,
 * close and crash. Whatever was acknowledged stays, and no document answers what nobody could have told it.
 */
import fc from "fast-check";
import type { SeenGuard } from "seenguard";
import { beforeAll, expect } from "vitest";
import { settled } from "../../support/node.js";
import { History } from "./history.js";
import { countCommands, runPrograms } from "./programs.js";
import { loadTabs, startDevice, type Device, type Request, type TabDocument } from "./tabs.js";

const TABS = 3;
const IDS_OF_A_TAB = 5;
const allIds = Array.from({ length: TABS }, (_, tab) => idsOf(tab)).flat();
/** Longer than anything waits for a storage. */
const PATIENCE_MS = 30_000;

function idsOf(tab: number): string[] {
  return Array.from({ length: IDS_OF_A_TAB }, (_, index) => `of tab ${String(tab)}: ${String(index)}`);
}

beforeAll(() => loadTabs(TABS));

type Step =
  | { readonly do: "open" | "flush" | "close" | "clear"; readonly tab: number }
  | { readonly do: "record" | "unsee"; readonly tab: number; readonly ids: readonly number[] }
  /** By turns, its operations that are under way have happened or never happen. */
  | { readonly do: "crash"; readonly tab: number; readonly happened: readonly boolean[] }
  | { readonly do: "let happen"; readonly operations: number }
  | { readonly do: "pass"; readonly ms: number };

const tab = fc.nat({ max: TABS - 1 });
const ids = fc.array(fc.nat({ max: IDS_OF_A_TAB - 1 }), { minLength: 1, maxLength: 3 });
const happened = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("record" as const, "unsee" as const), tab, ids }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("open" as const, "flush" as const), tab }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("close" as const), tab }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("clear" as const), tab }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), tab, happened }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("let happen" as const), operations: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.nat({ max: 1500 }) }) },
);

interface Tab {
  document: TabDocument;
  /** Absent as long as it opens. */
  guard?: SeenGuard;
  isClosing: boolean;
}

class Program {
  private readonly scheduler: fc.Scheduler;
  private readonly device: Device;
  private readonly history = new History();
  private readonly tabs: (Tab | undefined)[] = [];
  /** What has not happened yet. */
  private requests: Request[] = [];
  /** Of promises that documents have yet to keep. */
  private waiting = 0;

  constructor(scheduler: fc.Scheduler, seed: number) {
    this.scheduler = scheduler;
    this.device = startDevice(seed, (request) => this.schedule(request));
  }

  /** What is asked for happens when its turn comes, unless its document crashes before. */
  private schedule(request: Request): Promise<unknown> {
    this.requests.push(request);
    const { document, operation, key, act } = request;
    return new Promise((resolve) => {
      void this.scheduler.schedule(Promise.resolve(), `${operation} ${key}`).then(() => {
        if (document.isDead) return;
        this.requests = this.requests.filter((other) => other !== request);
        resolve(act());
      });
    });
  }

  async take(step: Step): Promise<void> {
    countCommands();
    if (step.do === "let happen") await this.letHappen(step.operations);
    else if (step.do === "pass") await this.device.advance(step.ms);
    else this.act(step);
    // Things that happen one after the other do not happen in the same millisecond.
    await this.device.advance(2);
    this.check();
  }

  private act(step: Exclude<Step, { do: "let happen" | "pass" }>): void {
    const open = this.tabs[step.tab];
    if (!open) {
      if (step.do === "open") this.open(step.tab);
    } else if (step.do === "crash") this.crash(step.tab, open, step.happened);
    else if (open.guard && !open.isClosing) this.actOn(step, open, open.guard);
  }

  private actOn(step: Exclude<Step, { do: "let happen" | "pass" | "crash" }>, open: Tab, guard: SeenGuard): void {
    const { tab } = step;
    if (step.do === "flush") this.acknowledgeAfter(open, guard.flush());
    else if (step.do === "close") {
      open.isClosing = true;
      this.acknowledgeAfter(open, guard.close(), () => (this.tabs[tab] = undefined));
    } else if (step.do === "clear") {
      const { page, storage } = open.document;
      const ended = this.history.clear(open.document);
      this.wait(open, page.seenguard.SeenGuard.clear(this.device.namespace, storage), ended);
    } else if ("ids" in step) {
      const ids = step.ids.flatMap((index) => idsOf(tab)[index] ?? []);
      guard[step.do](ids);
      this.history.change(open.document, ids, step.do === "record" ? "seen" : "unseen");
    }
  }

  private open(tab: number): void {
    const document = this.device.newDocument(tab);
    const open: Tab = { document, isClosing: false };
    this.tabs[tab] = open;
    this.history.open(document);
    this.wait(open, document.open(this.device.namespace), (guard) => {
      open.guard = guard;
      if (document.errors.length > 0) this.history.setLate(document);
    });
  }

  private crash(tab: number, { document }: Tab, happened: readonly boolean[]): void {
    const own = this.requests.filter((request) => request.document === document);
    this.requests = this.requests.filter((request) => request.document !== document);
    own.forEach(({ act }, index) => {
      if (happened[index % happened.length]) act();
    });
    this.device.end(document);
    this.tabs[tab] = undefined;
  }

  /** What was recorded before is in storage when it is done, unless something went wrong. */
  private acknowledgeAfter(open: Tab, done: Promise<unknown>, then = () => {}): void {
    const number = this.history.next();
    const { errors } = open.document;
    const { length } = errors;
    this.wait(open, done, () => {
      if (errors.length === length) this.history.acknowledge(open.document, number);
      then();
    });
  }

  private wait<T>({ document }: Tab, promise: Promise<T>, then: (value: T) => void): void {
    this.waiting++;
    const stop = document.onEnd(() => this.waiting--);
    void promise.then((value) => {
      if (stop()) this.waiting--;
      then(value);
    });
  }

  private async letHappen(operations: number): Promise<void> {
    for (let more = operations; more > 0 && this.scheduler.count() > 0; more--) {
      await this.scheduler.waitNext(1);
      await settled();
    }
  }

  /** What each document answers is one of the things that it may know. */
  private check(): void {
    for (const open of this.tabs) {
      if (!open?.guard || open.isClosing) continue;
      const fresh = new Set(open.guard.filter(allIds));
      for (const id of allIds) {
        const states = this.history.statesOf(open.document, id);
        const may = fresh.has(id) ? states.has("none") || states.has("unseen") : states.has("seen");
        const told = `${id} ${fresh.has(id) ? "passes" : "is stopped"}, and may be ${[...states].join(" or ")}`;
        expect(may, told).toBe(true);
      }
    }
  }

  /** Lets everything happen until no promise is open, closes what is open, and looks at what is left. */
  async end(): Promise<void> {
    await this.untilSettled();
    for (let tab = 0; tab < TABS; tab++) await this.take({ do: "close", tab });
    await this.untilSettled();
    await this.take({ do: "open", tab: 0 });
    await this.untilSettled();
    this.check();
    const codes = this.tabs.flatMap((open) => open?.document.errors.map(({ code }) => code) ?? []);
    expect(codes).toEqual([]);
    await this.device.advance(PATIENCE_MS);
    await this.untilSettled();
    expect(this.device.values.size).toBeLessThanOrEqual(32);
    for (const open of this.tabs) this.device.end(open?.document);
  }

  private async untilSettled(): Promise<void> {
    for (let ms = 0; this.waiting > 0 || this.scheduler.count() > 0; ms += 100) {
      if (ms > PATIENCE_MS) throw new Error(`${String(this.waiting)} promises stay open`);
      await this.letHappen(Infinity);
      await this.device.advance(100);
    }
  }
}

runPrograms("several tabs", () =>
  fc.asyncProperty(
    fc.scheduler(),
    fc.nat(),
    fc.array(step, { maxLength: 60, size: "max" }),
    async (scheduler, seed, steps) => {
      await loadTabs(TABS);
      const program = new Program(scheduler, seed);
      for (const step of steps) await program.take(step);
      await program.end();
    },
  ),
);
