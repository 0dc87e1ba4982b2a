/**
 * The record of all recorded, unseen, cleared and shown ids, outside of the browser: the oracle that detects repeats
 * and lost impressions.
 *
 * Times are virtual, except those whose names end in `Real`: milliseconds of this process's clock. An entry counts for
 * all tabs once its tab has reported that it is in storage. If a tab is killed before, the entry may be in storage or
 * not, and is not checked.
 */
import type { Entry, Note, Shown } from "./app.ts";
import { DAY_MS, type VirtualClock } from "./clock.ts";

/** The time in which a tab must know the impressions of others; more on a busy machine. */
const SEEN_WITHIN_MS = 1_000;
const SURELY_SEEN_WITHIN_MS = 10_000;
/** The most by which the order of events may differ between tabs and server, in machine time. */
const ORDER_MS = 5_000;
/** The delay of a page's check, until concurrent entries of other tabs are known. */
const CHECKED_AFTER_MS = 15_000;

/** The use of a guard in a tab, from its opening to its end. */
export interface Visit {
  readonly user: string;
  /** The time of the opening, which must have loaded all stored entries. */
  openedReal: number;
  /** The time from which it writes nothing more. */
  endedReal: number;
  readonly recordings: Recording[];
}

export interface Recording extends Entry {
  readonly visit: Visit;
  /** Its index among the user's recordings. */
  readonly order: number;
  durableReal: number;
}

interface Page {
  readonly visit: Visit;
  readonly shown: Shown;
  readonly startedReal: number;
  readonly dueReal: number;
}

interface Person {
  readonly byId: Map<string, Recording[]>;
  count: number;
  /** The time of the latest clear: earlier recordings are no longer checked. */
  clearedAt: number;
}

export class Ledger {
  /** Ids that were shown although the guard had to stop them, with the reason. */
  readonly repeats: string[] = [];
  /** The number of repeats one to ten seconds after another tab had stored the id. */
  late = 0;
  shown = 0;
  first = 0;
  firstStopped = 0;
  private readonly people = new Map<string, Person>();
  private pages: Page[] = [];

  constructor(
    private readonly clock: VirtualClock,
    private readonly windowDays: number,
    private readonly remember: number,
  ) {}

  get recorded(): number {
    return [...this.people.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** All ids that were ever recorded or made unseen. */
  idsOf(user: string): string[] {
    return [...this.person(user).byId.keys()];
  }

  open(user: string): Visit {
    return { user, openedReal: performance.now(), endedReal: Infinity, recordings: [] };
  }

  /** Ends a visit: its tab was killed or closed, or has another document or guard. */
  end(visit: Visit): void {
    visit.endedReal = performance.now();
  }

  /** Notes that the storage timed out: the guard opened without the stored impressions, and loads them later. */
  foundNothing(visit: Visit): void {
    visit.openedReal = -Infinity;
  }

  note(visit: Visit, { entries, durable }: Note<unknown>): void {
    for (const entry of entries) visit.recordings.push(this.add(visit.user, entry, visit));
    const nowReal = performance.now();
    for (const recording of visit.recordings.slice(0, durable))
      recording.durableReal = Math.min(recording.durableReal, nowReal);
  }

  /**
   * Notes that a tab is about to make an id unseen, and may be killed before it reports so; then `withdraw` applies.
   */
  noteUnseen(visit: Visit, id: string): Recording {
    const now = this.clock.now();
    return this.add(visit.user, { kind: "unseen", id, from: now, to: now }, visit);
  }

  withdraw(recording: Recording): void {
    const { byId } = this.person(recording.visit.user);
    const others = byId.get(recording.id)?.filter((other) => other !== recording) ?? [];
    byId.set(recording.id, others);
  }

  /** Notes that a tab starts or ends clearing a user, or was killed meanwhile. */
  clears(user: string): void {
    this.person(user).clearedAt = this.clock.now() + ORDER_MS * this.clock.settings.rate;
  }

  show(visit: Visit, shown: Shown, startedReal: number): void {
    this.shown += shown.ids.length;
    this.first += shown.first;
    this.firstStopped += shown.firstStopped;
    this.pages.push({ visit, shown, startedReal, dueReal: performance.now() + CHECKED_AFTER_MS });
  }

  /** Checks the pages that are due; all of them at the end. */
  checkPages(isEnd = false): void {
    const nowReal = performance.now();
    const due = this.pages.filter(({ dueReal }) => isEnd || dueReal <= nowReal);
    this.pages = this.pages.filter((page) => !due.includes(page));
    for (const page of due) for (const id of page.shown.ids) this.checkId(page, id);
  }

  /** Returns the stored or delivered ids that the server has not received, by `receivedAt`. */
  lost(receivedAt: (user: string, id: string) => number | undefined): string[] {
    const tolerance = ORDER_MS * this.clock.settings.rate;
    return [...this.people].flatMap(([user, { byId, clearedAt }]) =>
      [...byId].flatMap(([id, recordings]) => {
        const last = recordings.findLast(({ durableReal }) => durableReal < Infinity);
        if (!last || last.from <= clearedAt) return [];
        return (receivedAt(user, id) ?? 0) >= last.from - tolerance ? [] : [`${user} ${id}`];
      }),
    );
  }

  private person(user: string): Person {
    const person = this.people.get(user) ?? { byId: new Map(), count: 0, clearedAt: 0 };
    this.people.set(user, person);
    return person;
  }

  private add(user: string, entry: Entry, visit: Visit): Recording {
    const person = this.person(user);
    const recording = { ...entry, visit, order: person.count++, durableReal: Infinity };
    const others = person.byId.get(entry.id) ?? [];
    person.byId.set(entry.id, [...others, recording]);
    return recording;
  }

  private checkId(page: Page, id: string): void {
    const { visit, shown } = page;
    const person = this.person(visit.user);
    const earlier = (person.byId.get(id) ?? []).filter(({ from }) => from <= shown.to);
    const unseen = earlier.filter(({ kind }) => kind === "unseen");
    const inForce = earlier.filter(
      (recording) =>
        recording.kind === "seen" &&
        recording.from > person.clearedAt &&
        unseen.every((other) => recording.from > this.surelyKnownAt(other, recording.visit)) &&
        shown.to < recording.from + this.windowDays * DAY_MS &&
        person.count - recording.order < this.remember,
    );
    const known = (withinMs: number) => inForce.find((recording) => isKnown(recording, page, withinMs));
    const recording = known(SURELY_SEEN_WITHIN_MS);
    if (recording) this.repeats.push([describe(recording, page), ...this.history(person, id, page)].join("\n      "));
    else if (known(SEEN_WITHIN_MS)) this.late++;
  }

  /**
   * The virtual time at which a visit certainly knows that an id is unseen, so that its later recordings of the id
   * count. Another tab's `unsee` is known only once it is stored, if ever.
   */
  private surelyKnownAt({ visit, to, durableReal }: Recording, by: Visit): number {
    const learnedReal = Math.min(durableReal, visit.endedReal);
    const learned = this.clock.now() - (performance.now() - learnedReal) * this.clock.settings.rate;
    return (visit === by ? to : Math.max(to, learned)) + ORDER_MS * this.clock.settings.rate;
  }

  /** Describes the history of an id, in machine seconds before a page was shown. */
  private history(person: Person, id: string, { visit, shown, startedReal }: Page): string[] {
    const seconds = (ms: number) => (ms / 1000).toFixed(3);
    return (person.byId.get(id) ?? []).map((one) => {
      const at = seconds((shown.to - one.to) / this.clock.settings.rate);
      const whose =
        one.visit === visit ? "the same tab" : `another tab, opened ${seconds(startedReal - one.visit.openedReal)}`;
      return `  ${one.kind} ${at} by ${whose}, stored ${seconds(startedReal - one.durableReal)}`;
    });
  }
}

/** Whether the page's tab had to know a recording: its own, one loaded at its opening, or one of another tab. */
function isKnown(recording: Recording, { visit, shown, startedReal }: Page, withinMs: number): boolean {
  if (recording.visit === visit) return recording.to <= shown.from;
  return recording.durableReal <= visit.openedReal || recording.durableReal + withinMs < startedReal;
}

function describe(recording: Recording, { visit, shown, startedReal }: Page): string {
  const age = (shown.to - recording.from) / DAY_MS;
  const ago = (real: number) => `${((startedReal - real) / 1000).toFixed(1)} s before`;
  const opened = `the guard opened ${ago(visit.openedReal)}`;
  const whose = recording.visit === visit ? "by the same tab" : `by another tab, stored ${ago(recording.durableReal)}`;
  return `${visit.user} ${recording.id}: ${opened}; recorded ${age.toFixed(3)} days before ${whose}`;
}
