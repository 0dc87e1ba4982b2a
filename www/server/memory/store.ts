/**
 * The store that needs nothing installed: streams and shards in this process, gone with it.
 *
 * It keeps what the Redis store keeps, in the same form, and its consumer is a timer.
 */
import { recordInto } from "../chain.ts";
import {
  DEFAULT_CONTROL,
  MOST_WAITING,
  StreamFull,
  describeUnreadable,
  loseSome,
  type Impression,
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
  waiting: { readonly id: string; readonly arrivedAt: number }[];
  shards: readonly string[];
  /** As they were when the replica stopped following. */
  replica: readonly string[];
}

export class MemoryStore implements Store {
  /** In the order of their last use, the latest last. */
  private readonly people = new Map<string, Person>();
  private timer: NodeJS.Timeout | undefined;
  /** Changes of shards, one after the other. */
  private changing: Promise<unknown> = Promise.resolve();

  constructor(private readonly problems: ProblemLog) {
    this.consumeAfter(TICK_MS);
  }

  shards(user: string): Promise<readonly string[]> {
    return Promise.resolve(this.person(user).shards);
  }

  replicaShards(user: string): Promise<readonly string[]> {
    const { control, replica, shards } = this.person(user);
    return Promise.resolve(control.replicaLags ? replica : shards);
  }

  accept(user: string, impressions: readonly Impression[]): Promise<void> {
    const person = this.person(user);
    if (person.waiting.length + impressions.length > MOST_WAITING) return Promise.reject(new StreamFull());
    const arrivedAt = performance.now();
    const { kept, lost } = loseSome(impressions, person.accepted, person.control);
    for (const { id } of kept) person.waiting.push({ id, arrivedAt });
    person.accepted += impressions.length;
    person.lost += lost;
    return Promise.resolve();
  }

  control(user: string, change: Partial<StreamControl>): Promise<StreamControl> {
    const person = this.person(user);
    if (change.replicaLags === true && !person.control.replicaLags) person.replica = person.shards;
    person.control = { ...person.control, ...change };
    return Promise.resolve(person.control);
  }

  stream(user: string): Promise<StreamStatus> {
    const { control, accepted, waiting, lost } = this.person(user);
    return Promise.resolve({ ...control, accepted, waiting: waiting.length, lost });
  }

  flush(user: string): Promise<void> {
    return this.inTurn(() => {
      this.person(user).shards = [];
      return Promise.resolve();
    });
  }

  status(): Promise<StoreStatus> {
    return Promise.resolve({ kind: "memory", available: true, problems: this.problems.list() });
  }

  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.changing;
  }

  private person(user: string): Person {
    const known = this.people.get(user);
    const person = known ?? { control: DEFAULT_CONTROL, accepted: 0, lost: 0, waiting: [], shards: [], replica: [] };
    this.people.delete(user);
    this.people.set(user, person);
    const longestAway = this.people.size > MOST_PEOPLE ? this.people.keys().next().value : undefined;
    if (longestAway !== undefined) this.people.delete(longestAway);
    return person;
  }

  private consumeAfter(delayMs: number): void {
    this.timer = setTimeout(() => {
      void this.inTurn(() => this.consume()).then(
        () => this.goOnAfter(TICK_MS),
        (error: unknown) => {
          this.problems.add(`impressions could not be recorded and are tried again: ${String(error)}`);
          this.goOnAfter(PAUSE_AFTER_ERROR_MS);
        },
      );
    }, delayMs);
  }

  private goOnAfter(delayMs: number): void {
    if (this.timer !== undefined) this.consumeAfter(delayMs);
  }

  /** Records what has been under way for long enough. */
  private async consume(): Promise<void> {
    for (const [user, person] of [...this.people]) {
      const due = dueNow(person);
      if (due.length === 0) continue;
      const { shards, unreadable } = await recordInto(person.shards, due);
      person.shards = shards;
      person.waiting.splice(0, due.length);
      for (const element of unreadable) this.problems.add(describeUnreadable(element), user);
    }
  }

  /** Runs `change` when those before it have ended, whatever came of them. */
  private inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.changing.then(change);
    this.changing = result.catch(() => undefined);
    return result;
  }
}

/** The ids that have been in a running stream for its lag, in their order. */
function dueNow({ control, waiting }: Person): string[] {
  if (!control.running) return [];
  const latest = performance.now() - control.lagSeconds * 1000;
  const firstEarly = waiting.findIndex(({ arrivedAt }) => arrivedAt > latest);
  return waiting.slice(0, firstEarly === -1 ? waiting.length : firstEarly).map(({ id }) => id);
}
