/** The back end without other programs: stream and histories in the memory of this process. */
import {
  memoryStore,
  ShardChain,
  type Page,
  type PageOptions,
  type ReceivedReport,
  type SeenStore,
  type Snapshot,
} from "seenguard/server";
import { Refused, type BackEnd, type StreamControl, type StreamStatus } from "./back-end.ts";
import { groupIdOf, type Item } from "./catalogue.ts";
import { CHAIN_OPTIONS, withChain } from "./chain.ts";

/** The most people; beyond that, the least recently active one is removed. */
const MAX_PEOPLE = 2000;
/** The most entries of one person in the stream; above it, a page gets an error, stores its own and tries again. */
const MAX_WAITING = 100_000;
const ONE_LOST_IN = 10;
const TICK_MS = 50;
const PAUSE_AFTER_ERROR_MS = 5000;

const INITIAL: StreamControl = { running: true, lagSeconds: 60, losesEvents: false, replicaLags: false };

interface Person {
  control: StreamControl;
  accepted: number;
  lost: number;
  /** In the order of arrival. */
  waiting: { readonly report: ReceivedReport; readonly arrivedAt: number }[];
  /** This person's chain, and their devices' pending lists. */
  seen: SeenStore;
  /** The state at which the replica stopped following. */
  replica: Snapshot;
}

export class MemoryBackEnd implements BackEnd {
  readonly kind = "memory";
  readonly cannot = {};
  /** In the order of their last use, the latest last. */
  private readonly people = new Map<string, Person>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private consuming: Promise<void> = Promise.resolve();

  /** Starts consuming; `close` ends it. */
  constructor() {
    this.consumeAfter(TICK_MS);
  }

  read(user: string): Promise<ShardChain> {
    return this.person(user).seen.read(user);
  }

  readReplica(user: string): Promise<ShardChain> {
    const { control, replica, seen } = this.person(user);
    return control.replicaLags ? ShardChain.from(replica, CHAIN_OPTIONS) : seen.read(user);
  }

  page(user: string, ranked: readonly Item[], options: PageOptions): Promise<Page<Item>> {
    return this.person(user).seen.page(user, ranked, { ...options, id: groupIdOf });
  }

  async report(user: string, body: unknown): Promise<void> {
    const person = this.person(user);
    const report = await person.seen.accept(user, body);
    const entries = entriesIn(report);
    if (waitingOf(person) + entries > MAX_WAITING)
      throw new Refused(429, "stream-full", "this person's stream is full: try again later");
    const entering = person.control.losesEvents ? loseSome(report, person.accepted) : report;
    person.waiting.push({ report: entering, arrivedAt: performance.now() });
    person.accepted += entries;
    person.lost += entries - entriesIn(entering);
  }

  async control(user: string, change: Partial<StreamControl>): Promise<void> {
    const person = this.person(user);
    if (change.replicaLags === true && !person.control.replicaLags)
      person.replica = await withChain(this.read(user), (chain) => chain.snapshot());
    person.control = { ...person.control, ...change };
  }

  stream(user: string): Promise<StreamStatus> {
    const person = this.person(user);
    const { control, accepted, lost } = person;
    return Promise.resolve({ ...control, accepted, waiting: waitingOf(person), lost });
  }

  forget(user: string): Promise<void> {
    return this.person(user).seen.forget(user);
  }

  flush(user: string): Promise<void> {
    this.person(user).seen = memoryStore(CHAIN_OPTIONS);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.consuming;
  }

  private person(user: string): Person {
    const known = this.people.get(user);
    const person = known ?? newPerson();
    this.people.delete(user);
    this.people.set(user, person);
    const leastRecent = this.people.size > MAX_PEOPLE ? this.people.keys().next().value : undefined;
    if (leastRecent !== undefined) this.people.delete(leastRecent);
    return person;
  }

  private consumeAfter(delayMs: number): void {
    this.timer = setTimeout(() => {
      this.consuming = this.consume().then(
        () => this.continueAfter(TICK_MS),
        (error: unknown) => {
          console.error("applying reports failed, trying again:", error);
          this.continueAfter(PAUSE_AFTER_ERROR_MS);
        },
      );
    }, delayMs);
  }

  private continueAfter(delayMs: number): void {
    if (this.timer !== undefined) this.consumeAfter(delayMs);
  }

  /** Ingests the reports that have been in the stream for its lag. */
  private async consume(): Promise<void> {
    for (const [user, person] of [...this.people]) {
      const due = dueNow(person);
      if (due.length === 0) continue;
      await person.seen.update(user, (chain) => {
        for (const report of due) chain.ingest(report);
      });
      person.waiting.splice(0, due.length);
    }
  }
}

function newPerson(): Person {
  return {
    control: INITIAL,
    accepted: 0,
    lost: 0,
    waiting: [],
    seen: memoryStore(CHAIN_OPTIONS),
    replica: { shards: [] },
  };
}

/** The reports that have been in a running stream for its lag, in their order. */
function dueNow({ control, waiting }: Person): ReceivedReport[] {
  if (!control.running) return [];
  const latest = performance.now() - control.lagSeconds * 1000;
  const firstEarly = waiting.findIndex(({ arrivedAt }) => arrivedAt > latest);
  return waiting.slice(0, firstEarly === -1 ? waiting.length : firstEarly).map(({ report }) => report);
}

const entriesIn = ({ impressions, unseen }: ReceivedReport): number => impressions.length + unseen.length;

const waitingOf = ({ waiting }: Person): number => waiting.reduce((sum, { report }) => sum + entriesIn(report), 0);

/** The report without every tenth of a person's entries, counted from `accepted` earlier ones. */
function loseSome(report: ReceivedReport, accepted: number): ReceivedReport {
  const isDelivered = (index: number): boolean => (accepted + index + 1) % ONE_LOST_IN !== 0;
  const impressions = report.impressions.filter((_, index) => isDelivered(index));
  const unseen = report.unseen.filter((_, index) => isDelivered(report.impressions.length + index));
  return { ...report, impressions, unseen };
}
