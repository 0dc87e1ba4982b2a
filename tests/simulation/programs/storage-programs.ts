/**
 * Random programs of several tabs of one profile over working, slow, failing and lying storage, and what must be true
 * after each of them: see ledger.ts.
 */
import fc from "fast-check";
import type { SeenGuard } from "seenguard";
import { ShardChain } from "seenguard/server";
import { BEGIN_MS, Browser, type Access, type Outcome, type PageDocument, type World } from "./browser.js";
import { customStore, type Lie } from "./custom-store.js";
import { hostile } from "./hostile.js";
import { generationOf, kindOf, Ledger, PATIENCE_MS } from "./ledger.js";
import { sizeOf } from "./local-storage.js";
import { globalsOf } from "./globals.js";
import type { LoadPackage } from "./package.js";
import { countCommands } from "./programs.js";

const TABS = 3;
const IDS = 4;
/** One more is compacted. */
const ROWS = 12;
const NEVER_RECORDED = ["never recorded", "nor this one"];
const SIGNAL = "seenguard-signal/home";
/** By then a visible tab has tried again what failed, and opened a database that was silent. */
const RETRIED_MS = 150_000;
/** Quick enough for a load to end before `open` no longer waits for it. */
const QUICK_MS = 100;
/** By then a tab that has opened has done its maintenance. */
const SETTLED_MS = 6_000;
/** By then a visible tab has loaded again. */
const LOADED_MS = 15_000;

type Step =
  | { readonly do: Act; readonly tab: number }
  | { readonly do: "record" | "unsee"; readonly tab: number; readonly ids: readonly number[] }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "set the clock"; readonly ms: number }
  | { readonly do: "storage"; readonly outcomes: readonly Outcome[] }
  | { readonly do: "lie"; readonly lie: Lie | undefined }
  | { readonly do: "localStorage"; readonly is: "emptied" | "full" | "deaf" | "usable" };

const ACTS = ["flush", "close", "clear", "hide", "show", "leave", "crash", "trap", "ask", "report", "apply"] as const;
type Act = "open" | (typeof ACTS)[number];

const tab = fc.nat({ max: TABS - 1 });
const ids = fc.array(fc.nat({ max: IDS - 1 }), { minLength: 1, maxLength: 3 });
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ way: fc.constant("works" as const) }) },
  { weight: 2, arbitrary: fc.record({ way: fc.constantFrom("fails" as const, "fails though done" as const) }) },
  { weight: 1, arbitrary: fc.record({ way: fc.constantFrom("is full" as const, "loses the connection" as const) }) },
  { weight: 2, arbitrary: fc.record({ way: fc.constant("is late" as const), ms: fc.nat({ max: 15_000 }) }) },
  { weight: 1, arbitrary: fc.record({ way: fc.constant("is late" as const), ms: fc.nat({ max: 100 }) }) },
  { weight: 1, arbitrary: fc.record({ way: fc.constant("is silent" as const), isDone: fc.boolean() }) },
);
const lie: fc.Arbitrary<Lie | undefined> = fc.oneof(
  fc.constant(undefined),
  fc.record({ way: fc.constantFrom("lists what is gone" as const, "lists twice" as const) }),
  fc.record({ way: fc.constantFrom("lists nothing" as const, "loses" as const) }),
  fc.record({ way: fc.constant("truncates" as const), at: fc.nat({ max: 60 }) }),
  fc.record({ way: fc.constant("answers anything" as const), value: hostile }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("record" as const), tab, ids }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("unsee" as const), tab, ids }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("open" as const), tab }) },
  { weight: 9, arbitrary: fc.record({ do: fc.constantFrom(...ACTS), tab }) },
  {
    weight: 5,
    arbitrary: fc.oneof(
      fc.record({ do: fc.constant("wait" as const), ms: fc.nat({ max: 40 }) }),
      fc.record({ do: fc.constant("wait" as const), ms: fc.nat({ max: 3_000 }) }),
      fc.record({ do: fc.constant("wait" as const), ms: fc.nat({ max: 20_000 }) }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("storage" as const),
      outcomes: fc.array(outcome, { minLength: 0, maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant("set the clock" as const), ms: fc.integer({ min: -9e6, max: 9e6 }) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("lie" as const), lie }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant("localStorage" as const),
          is: fc.constantFrom("emptied" as const, "full" as const, "deaf" as const, "usable" as const),
        }),
      },
    ),
  },
);
const access = (often: number): fc.Arbitrary<Access> =>
  fc.oneof(
    { weight: often, arbitrary: fc.constant("works" as const) },
    { weight: 1, arbitrary: fc.constantFrom("absent" as const, "denied" as const) },
  );
const world: fc.Arbitrary<World> = fc.record({
  seed: fc.nat(),
  indexedDb: access(6),
  local: access(4),
  isCustom: fc.nat({ max: 3 }).map((kind) => kind === 0),
});

interface Tab {
  readonly document: PageDocument;
  /** Absent while it opens. */
  guard?: SeenGuard;
  isClosing: boolean;
}

interface Waiting {
  readonly what: string;
  readonly document: PageDocument;
  readonly sinceMs: number;
}

class Program {
  readonly ledger = new Ledger();
  private readonly browser: Browser;
  private readonly tabs: (Tab | undefined)[] = [];
  private readonly waiting = new Set<Waiting>();
  private lie: Lie | undefined;
  /** Whether a clear has failed, or its page died in the midst of it. */
  private hasClearFailed = false;
  private isFinishing = false;
  /** Whether anything has gone wrong that may be reported. */
  private isTroubled = false;
  /** Whether an open of the database may be silent, which is not tried again for a minute. */
  private wasSilent = false;

  constructor(world: World, load: LoadPackage) {
    this.browser = new Browser(world, this.ledger, (document) => load(globalsOf(document)));
    this.ledger.hasSignals = world.local === "works";
  }

  /** A past visit has left as many rows as may stay, or what it could not save. */
  async past(): Promise<void> {
    const { browser } = this;
    await this.take({ do: "open", tab: 0 });
    await browser.advance(50);
    const isSilent = browser.random.next() < 0.5;
    if (isSilent) browser.outcomes = [{ way: "is silent", isDone: false }];
    for (let row = 0; row < (isSilent ? 1 : ROWS); row++) {
      await this.take({ do: "record", tab: 0, ids: [row % IDS] });
      await browser.advance(isSilent ? 1_500 : 10);
    }
    await this.take({ do: "crash", tab: 0 });
    browser.outcomes = [];
  }

  async take(step: Step): Promise<void> {
    countCommands();
    const { browser } = this;
    if (step.do === "wait") await browser.advance(step.ms);
    else await browser.task(() => this.act(step));
    // Steps that follow each other have different milliseconds.
    await browser.advance(1 + browser.random.below(3));
    this.check();
  }

  private act(step: Exclude<Step, { do: "wait" }>): void {
    if (step.do === "storage") {
      this.browser.outcomes = step.outcomes;
      if (step.outcomes.some(({ way }) => way !== "works")) this.isTroubled = true;
      if (step.outcomes.some(({ way }) => way === "is silent")) this.wasSilent = true;
    } else if (step.do === "set the clock") {
      this.browser.clockMs += step.ms;
    } else if (step.do === "lie") {
      this.lie = step.lie;
      if (step.lie) this.isTroubled = true;
    } else if (step.do === "localStorage") this.changeLocal(step.is);
    else this.actIn(step.tab, step);
  }

  private changeLocal(is: "emptied" | "full" | "deaf" | "usable"): void {
    const { browser } = this;
    if (browser.world.local !== "works") return;
    if (is !== "usable") this.ledger.doubtLocal();
    if (is === "emptied") {
      browser.local.clear();
      browser.storageEvent(undefined, null, null, null);
    }
    browser.localRoom = is === "full" ? sizeOf(browser.local) : Infinity;
    browser.isLocalDeaf = is === "deaf";
  }

  private actIn(
    index: number,
    step: Exclude<Step, { ms: number } | { outcomes: unknown } | { lie: unknown } | { is: string }>,
  ): void {
    const tab = this.tabs[index];
    if (!tab) {
      if (step.do === "open") this.open(index);
    } else if (step.do === "leave" || step.do === "crash") this.end(index, tab, step.do);
    else if (step.do === "hide" && !tab.document.isHidden) this.hide(tab);
    else if (step.do === "show" && tab.document.isHidden) tab.document.setHidden(false);
    else if (step.do === "clear") this.clear(tab);
    else if (tab.guard && !tab.isClosing) this.actOn(index, tab, tab.guard, step);
  }

  private actOn(index: number, tab: Tab, guard: SeenGuard, step: { do: string; ids?: readonly number[] }): void {
    const { document } = tab;
    if (step.ids) {
      const ids = step.ids.map((id) => idOf(document, id));
      const isSeen = step.do === "record";
      guard[isSeen ? "record" : "unsee"](ids);
      for (const id of ids) this.ledger.change(document, id, isSeen ? "seen" : "unseen");
    } else if (step.do === "flush") this.flush(tab, guard);
    else if (step.do === "close") {
      tab.isClosing = true;
      this.wait(document, "close", guard.close(), () => {
        // Elsewhere a clear of the document may wait for its storage.
        if (this.isFinishing) this.checkTimers(document);
        this.end(index, tab, "crash");
      });
    } else if (step.do === "trap") {
      document.traps = true;
      // The new engine loads, in a hidden tab, too.
      document.mayList = true;
      this.begin(document);
      guard.filter(["a"]);
    } else if (step.do === "ask") {
      this.ledger.returned(guard.pending());
      guard.headers();
    } else if (step.do === "report") guard.report({ url: "https://feed.test/impressions", intervalMs: 1_000 });
    else if (step.do === "apply") guard.apply({ shards: [shard] });
  }

  private open(index: number): void {
    const document = this.browser.open();
    const tab: Tab = { document, isClosing: false };
    this.tabs[index] = tab;
    const { browser, ledger, generation } = this;
    const isClearing = this.begin(document);
    const storage = browser.world.isCustom ? { storage: customStore(document, () => this.lie) } : {};
    const [stored, outcomes, clears] = [ledger.durableIn(generation), browser.outcomes, ledger.clears.length];
    this.wait(document, "open", document.openGuard(storage), (guard) => {
      tab.guard = guard;
      this.updateMayList(document);
      const isQuick = outcomes.every((one) => one.way === "works" || (one.way === "is late" && one.ms <= QUICK_MS));
      // A failed clear takes effect with the first row of its generation.
      const isCleared = ledger.clears.length > clears || this.generation !== generation;
      const isSame = browser.outcomes === outcomes && !isCleared && !ledger.hasLied;
      if (isQuick && isSame && !isClearing) this.checkVersions(guard, stored, "a tab that has opened");
    });
  }

  /** Where there is no signal, an engine learns by its first listing what was cleared. Returns whether a clear continues. */
  private begin(document: PageDocument): boolean {
    const isClearing = [...this.waiting].some(({ what }) => what === "clear");
    if (!this.ledger.hasSignals) this.ledger.begin(document, !isClearing && !this.hasClearFailed);
    return isClearing;
  }

  private end(index: number, { document }: Tab, how: "leave" | "crash"): void {
    if (how === "leave") document.leave();
    else document.end();
    for (const waiting of this.waiting) {
      if (waiting.document !== document) continue;
      this.waiting.delete(waiting);
      if (waiting.what === "clear") this.hasClearFailed = true;
    }
    this.tabs[index] = undefined;
  }

  private flush({ document }: Tab, guard: SeenGuard): void {
    const unsaved = this.ledger.unsavedOf(document);
    const { world } = this.browser;
    this.wait(document, "flush", guard.flush(), () => {
      const isStored = document.errors.length === 0 && (world.isCustom || world.indexedDb === "works");
      if (!isStored || this.browser.outcomes.length > 0 || this.isTroubled) return;
      const left = new Set(this.ledger.unsavedOf(document));
      for (const id of unsaved) if (left.has(id)) this.ledger.violated(`${id} is not stored after flush`);
    });
  }

  private clear({ document }: Tab): void {
    const { browser, ledger } = this;
    const storage = browser.world.isCustom ? customStore(document, () => this.lie) : undefined;
    const signal = () => parseInt(browser.local.get(SIGNAL) ?? "0", 36);
    const before = signal();
    const clearing = document.seenguard.SeenGuard.clear("home", storage);
    const end = ledger.clear(document, signal() > before ? signal() : Infinity);
    document.mayList = true;
    this.wait(document, "clear", clearing, () => {
      this.updateMayList(document);
      end();
      // A store that lies may not have done what it confirmed.
      if (this.lie || ledger.hasLied) this.hasClearFailed = true;
    });
  }

  /** All that is unsaved is in the writes that begin in the task of the event, and in the stash. */
  private hide({ document, guard, isClosing }: Tab): void {
    const { browser, ledger } = this;
    const { world, local } = browser;
    const [unsaved, writes] = [ledger.unsavedOf(document), ledger.writes];
    document.setHidden(true);
    if (!guard || isClosing || guard.stats().engine === "none") return;
    const mustSave = world.isCustom || document.connections.size > 0;
    const mustStash =
      !world.isCustom && world.local === "works" && browser.localRoom === Infinity && !browser.isLocalDeaf;
    // The event makes a tab read the signal.
    for (const id of unsaved.filter((id) => !ledger.isDropped(document, id))) {
      if (mustSave && !ledger.isWritten(document, id, writes)) ledger.violated(`${id} is not saved as its page hides`);
      if (mustStash && !ledger.isStashed(local, id)) ledger.violated(`${id} is not in the stash as its page hides`);
    }
  }

  private wait<T>(document: PageDocument, what: string, promise: Promise<T>, then: (value: T) => void): void {
    const waiting = { what, document, sinceMs: this.browser.nowMs };
    this.waiting.add(waiting);
    promise.then(
      (value) => {
        if (this.waiting.delete(waiting)) then(value);
      },
      (error: unknown) => {
        if (!this.waiting.delete(waiting)) return;
        if (what === "clear") this.hasClearFailed = true;
        else this.ledger.violated(`${what} rejects: ${String(error)}`);
        this.updateMayList(document);
      },
    );
  }

  /** Two clears may overlap: the end of the first does not end the second's listing. */
  private updateMayList(document: PageDocument): void {
    document.mayList = [...this.waiting].some(
      (one) => one.document === document && (one.what === "open" || one.what === "clear"),
    );
  }

  private checkTimers(document: PageDocument): void {
    if (this.browser.timersOf(document) > 0) this.ledger.violated("timers continue after close");
  }

  /** Checks what must be true at any time. */
  private check(): void {
    const { ledger, browser } = this;
    for (const { what, sinceMs } of this.waiting)
      if (sinceMs < browser.nowMs - PATIENCE_MS) ledger.violated(`${what} waits forever`);
    const stashes = [...browser.local].filter(([key]) => kindOf(key) === "s");
    if (sizeOf(new Map(stashes)) > 220_000) ledger.violated("stashes grow without end");
    if (ledger.clears.length === 0) for (const tab of this.tabs) if (tab) this.checkOwn(tab);
    if (!this.isTroubled && browser.world.indexedDb === "works")
      for (const { errors } of browser.live)
        for (const { code, message } of errors)
          if (code !== "engine") ledger.violated(`without any trouble ${message} is reported`);
    ledger.assert();
  }

  /** Checks that a tab knows what it did itself. */
  private checkOwn({ document, guard, isClosing }: Tab): void {
    if (!guard || isClosing || guard.stats().engine === "none") return;
    for (const [id, changes] of this.ledger.changes) {
      const last = changes.at(-1);
      if (last?.document !== document || last.engine !== document.engines) continue;
      const isFresh = guard.filter([id]).length > 0;
      if (isFresh !== (last.kind === "unseen"))
        this.ledger.violated(`its own tab takes ${id} for ${isFresh ? "fresh" : "seen"}`);
    }
  }

  /** The highest generation that a new tab finds. */
  private get generation(): number {
    const { rows, custom, local, world } = this.browser;
    const keys = world.isCustom ? custom.keys() : world.indexedDb === "works" ? rows.keys() : [];
    const signals = [...local].filter(([key]) => key === SIGNAL || key === "seenguard-clear/home");
    const inLocal = world.local === "works" ? [...local.keys()].map(generationOf) : [];
    return Math.max(
      0,
      ...inLocal,
      ...[...keys].map(generationOf),
      ...signals.map(([, text]) => parseInt(text, 36) || 0),
    );
  }

  /** Checks that a guard knows these changes or later ones. */
  private checkVersions(guard: SeenGuard, versions: ReadonlyMap<string, number>, what: string): void {
    for (const [id, version] of versions) {
      const state = guard.filter([id]).length > 0 ? "unseen" : "seen";
      if (!this.ledger.statesFrom(id, version).has(state)) this.ledger.violated(`${id} is ${state} in ${what}`);
    }
  }

  /** Checks that a tab knows what storage has completed, and nothing that was cleared. */
  private checkKnown(guard: SeenGuard, what: string): void {
    const { ledger, generation } = this;
    this.checkVersions(guard, ledger.durableIn(generation), what);
    if (ledger.hasSignals)
      for (const id of ledger.changes.keys())
        if (ledger.wasCleared(id) && guard.filter([id]).length === 0)
          ledger.violated(`${id} was cleared, and is known in ${what}`);
    if (guard.filter(NEVER_RECORDED).length < NEVER_RECORDED.length)
      ledger.violated("what was never recorded is known");
    ledger.assert();
  }

  /** Checks that once storage works again, every change is written, known in every tab, and little is stored. */
  async finish(): Promise<void> {
    const { browser, ledger } = this;
    await browser.task(() => {
      [browser.outcomes, this.lie, browser.localRoom, browser.isLocalDeaf] = [[], undefined, Infinity, false];
    });
    await this.retry();
    await browser.advance(LOADED_MS);
    this.check();
    if (this.waiting.size > 0) ledger.violated(`${[...this.waiting].map(({ what }) => what).join()} waits forever`);
    await this.checkLive();
    await browser.task(() => this.tabs.forEach((tab, index) => tab && this.end(index, tab, "crash")));
    await this.checkNext();
  }

  /** Lets visible tabs try again what failed: by themselves, or as they are shown. */
  private async retry(): Promise<void> {
    const { browser } = this;
    const isShown = browser.random.next() < 0.5;
    await browser.task(() => {
      for (const tab of this.tabs) {
        if (isShown && tab?.document.isHidden === false) this.hide(tab);
        if (tab?.document.isHidden) tab.document.setHidden(false);
      }
    });
    if (this.isTroubled) await browser.advance(isShown && !this.wasSilent ? PATIENCE_MS : RETRIED_MS);
  }

  private async checkLive(): Promise<void> {
    const { browser, ledger } = this;
    const open = this.tabs.filter(
      (tab) => tab?.guard && !tab.isClosing && tab.guard.stats().engine !== "none",
    ) as Required<Tab>[];
    const { world } = browser;
    if (!world.isCustom && world.indexedDb !== "works") return;
    for (const { document, guard } of open) {
      for (const id of ledger.unsavedOf(document)) ledger.violated(`${id} is never saved`);
      // Without a signal a tab may know a clear that has failed: to no other tab there was one.
      if (ledger.hasSignals || !this.hasClearFailed) this.checkKnown(guard, "an open tab");
    }
    if (open.length > 0 && !world.isCustom && [...browser.local.keys()].some((key) => kindOf(key) === "s"))
      ledger.violated("a stash is left");
    const [first, ...others] = open;
    const isKnown = ledger.hasSignals || !this.hasClearFailed;
    if (first && isKnown && world.local === "works" && others.length > 0) await this.checkSignal(first, others);
    ledger.assert();
  }

  /** Checks that the others soon know what a tab saves, by its signal. */
  private async checkSignal(first: Required<Tab>, others: readonly Required<Tab>[]): Promise<void> {
    await this.browser.task(() => first.guard.record("at the end"));
    await this.browser.advance(1_500);
    for (const { guard } of others)
      if (guard.filter(["at the end"]).length > 0) this.ledger.violated("a visible tab does not load at a signal");
  }

  /** The next visit. */
  private async checkNext(): Promise<void> {
    const { browser, ledger } = this;
    this.isFinishing = true;
    const { world } = browser;
    await browser.task(() => this.open(0));
    await browser.advance(SETTLED_MS);
    const [tab] = this.tabs;
    if (!tab?.guard) throw new Error("open waits forever");
    this.checkKnown(tab.guard, "the next visit");
    const keys = [...(world.isCustom ? browser.custom : browser.rows).keys()];
    const { generation } = this;
    const small = keys.filter((key) => kindOf(key) === "r" && generationOf(key) === generation);
    if (browser.local.has("seenguard-clear/home")) ledger.violated("an unfinished clear is left");
    if (small.length > 13) ledger.violated(`${String(small.length)} small rows are left`);
    if (keys.length > 40) ledger.violated("keys grow without end");
    await this.take({ do: "record", tab: 0, ids: [0] });
    await this.take({ do: "close", tab: 0 });
    await browser.advance(SETTLED_MS);
    await this.take({ do: "open", tab: 0 });
    await browser.advance(SETTLED_MS);
    const [last] = this.tabs;
    if (last?.guard) this.checkKnown(last.guard, "the visit after it");
    await browser.task(() => last && this.end(0, last, "crash"));
  }
}

function idOf(document: PageDocument, id: number): string {
  return `id-${String(document.number)}-${String(document.engines * IDS + id)}.`;
}

let shard = "";

/** Programs of tabs over the package as it is loaded here. */
export async function storageProperty(load: LoadPackage): Promise<fc.IAsyncProperty<[World, Step[]]>> {
  const chain = await ShardChain.create();
  chain.record("in the shard", { now: BEGIN_MS / 1000 });
  shard = chain.snapshot({ now: BEGIN_MS / 1000 }).shards[0] ?? "";
  chain.free();
  return fc.asyncProperty(world, fc.array(step, { maxLength: 40, size: "max" }), async (world, steps) => {
    const program = new Program(world, load);
    if (world.seed % 2 === 0) await program.past();
    for (const step of [{ do: "open" as const, tab: 0 }, ...steps]) await program.take(step);
    await program.finish();
  });
}
