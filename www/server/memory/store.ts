/**
 * The store that needs nothing installed: streams and shards in this process, gone with it.
 *
 * It keeps what the Redis store keeps, and its consumer is a timer.
 */
import {
  memoryStore,
  ShardChain,
  type Page,
  type PageOptions,
  type ReceivedReport,
  type SeenStore,
  type Snapshot,
} from "seenguard/server";
import { groupIdOf, type Item } from "../catalogue.ts";
import { CHAIN_OPTIONS, withChain } from "../chain.ts";
import { takeEvents, type SeenEvent } from "../events.ts";
import {
  DEFAULT_CONTROL,
  MOST_WAITING,
  StreamFull,
  loseSome,
  type ProblemLog,
  type Store,
  type StoreStatus,
  type StreamControl,
  type StreamStatus,
} from "../store.ts";

/** People of whom something is kept; beyond that, the one who was away longest is forgotten. */
const MOST_PEOPLE = 2000;
const TICK_MS = 50;
const PAUSE_AFTER_ERROR_MS = 5000;

interface Person {
  control: StreamControl;
  accepted: number;
  lost: number;
  /** In the order of arrival. */
  waiting: { readonly event: SeenEvent; readonly arrivedAt: number }[];
  /** This person's chain, and what their devices have pending. */
  seen: SeenStore;
  /** As it was when the replica stopped following. */
  replica: Snapshot;
}

export class MemoryStore implements Store {
  /** In the order of their last use, the latest last. */
  private readonly people = new Map<string, Person>();
  private timer: NodeJS.Timeout | undefined;
  private consuming: Promise<void> = Promise.resolve();

  constructor(private readonly problems: ProblemLog) {
    this.consumeAfter(TICK_MS);
  }

  seen(user: string): Promise<ShardChain> {
    return this.person(user).seen.read(user);
  }

  replicaSeen(user: string): Promise<ShardChain> {
    const { control, replica, seen } = this.person(user);
    return control.replicaLags ? ShardChain.from(replica, CHAIN_OPTIONS) : seen.read(user);
  }

  page(user: string, ranked: readonly Item[], options: PageOptions): Promise<Page<Item>> {
    return this.person(user).seen.page(user, ranked, { ...options, id: groupIdOf });
  }

  accept(user: string, body: unknown): Promise<ReceivedReport> {
    return this.person(user).seen.accept(user, body);
  }

  enqueue(user: string, events: readonly SeenEvent[]): Promise<void> {
    const person = this.person(user);
    if (person.waiting.length + events.length > MOST_WAITING) return Promise.reject(new StreamFull());
    const arrivedAt = performance.now();
    const { kept, lost } = loseSome(events, person.accepted, person.control);
    for (const event of kept) person.waiting.push({ event, arrivedAt });
    person.accepted += events.length;
    person.lost += lost;
    return Promise.resolve();
  }

  async control(user: string, change: Partial<StreamControl>): Promise<StreamControl> {
    const person = this.person(user);
    if (change.replicaLags === true && !person.control.replicaLags)
      person.replica = await withChain(this.seen(user), (chain) => chain.snapshot());
    person.control = { ...person.control, ...change };
    return person.control;
  }

  stream(user: string): Promise<StreamStatus> {
    const { control, accepted, waiting, lost } = this.person(user);
    return Promise.resolve({ ...control, accepted, waiting: waiting.length, lost });
  }

  forget(user: string): Promise<void> {
    return this.person(user).seen.forget(user);
  }

  flush(user: string): Promise<void> {
    this.person(user).seen = memoryStore(CHAIN_OPTIONS);
    return Promise.resolve();
  }

  status(): Promise<StoreStatus> {
    return Promise.resolve({ kind: "memory", available: true, problems: this.problems.list() });
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
    const longestAway = this.people.size > MOST_PEOPLE ? this.people.keys().next().value : undefined;
    if (longestAway !== undefined) this.people.delete(longestAway);
    return person;
  }

  private consumeAfter(delayMs: number): void {
    this.timer = setTimeout(() => {
      this.consuming = this.consume().then(
        () => this.goOnAfter(TICK_MS),
        (error: unknown) => {
          this.problems.add(`events could not be taken in and are tried again: ${String(error)}`);
          this.goOnAfter(PAUSE_AFTER_ERROR_MS);
        },
      );
    }, delayMs);
  }

  private goOnAfter(delayMs: number): void {
    if (this.timer !== undefined) this.consumeAfter(delayMs);
  }

  /** Takes in what has been under way for long enough. */
  private async consume(): Promise<void> {
    for (const [user, person] of [...this.people]) {
      const due = dueNow(person);
      if (due.length === 0) continue;
      await person.seen.update(user, (chain) => {
        takeEvents(chain, due);
      });
      person.waiting.splice(0, due.length);
    }
  }
}

function newPerson(): Person {
  return {
    control: DEFAULT_CONTROL,
    accepted: 0,
    lost: 0,
    waiting: [],
    seen: memoryStore(CHAIN_OPTIONS),
    replica: { shards: [] },
  };
}

/** The events that have been in a running stream for its lag, in their order. */
function dueNow({ control, waiting }: Person): SeenEvent[] {
  if (!control.running) return [];
  const latest = performance.now() - control.lagSeconds * 1000;
  const firstEarly = waiting.findIndex(({ arrivedAt }) => arrivedAt > latest);
  return waiting.slice(0, firstEarly === -1 ? waiting.length : firstEarly).map(({ event }) => event);
}
