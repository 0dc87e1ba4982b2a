/**
 * The store in Redis: `layout.ts` says which key holds what.
 *
 * Every server carries events into the stream and can run a consumer; more consumers may run by themselves
 * (`consume.ts`). Settings and events under way are in Redis too, so a server may be killed at any moment.
 */
import {
  DEFAULT_CONTROL,
  MOST_WAITING,
  StreamFull,
  loseSome,
  type Problem,
  type ProblemLog,
  type Store,
  type StoreStatus,
  type StreamControl,
  type StreamStatus,
} from "../store.ts";
import {
  redisStore,
  type Page,
  type PageOptions,
  type ReceivedReport,
  type SeenStore,
  type ShardChain,
} from "seenguard/server";
import { groupIdOf, type Item } from "../catalogue.ts";
import { CHAIN_OPTIONS, WINDOW_SECONDS } from "../chain.ts";
import type { SeenEvent } from "../events.ts";
import { asUnavailable, carryOut, connect, type ScriptedRedis } from "./connection.ts";
import {
  IMPRESSIONS,
  PROBLEMS,
  REPLICA_PREFIX,
  UNDER_WAY,
  controlKey,
  metaKey,
  pendingKey,
  replicaKey,
  seenKey,
  underWayKey,
} from "./layout.ts";

const TICK_MS = 50;
const CARRIED_AT_ONCE = 1000;
/** Somebody waits for the answer. */
const STORED = { ...CHAIN_OPTIONS, deadlineMs: 1000 };

export interface RedisStoreOptions {
  /** Of people who have not set it. */
  readonly lagSeconds?: number;
  /** The fields of an entry of the stream; otherwise those that `Consumer` reads. */
  readonly fieldsOf?: (user: string, event: SeenEvent) => readonly string[];
  /** What makes pages and changes lists in this Redis; otherwise `redisStore`. */
  readonly stored?: KnownStore;
}

/** What a server asks of the store that its pages come from. */
export interface KnownStore extends Pick<SeenStore, "read" | "accept" | "forget"> {
  page(user: string, ranked: readonly Item[], options: PageOptions & { id: typeof groupIdOf }): Promise<Page<Item>>;
}

export class RedisStore implements Store {
  private readonly redis: ScriptedRedis;
  private readonly stored: KnownStore;
  private readonly replica: SeenStore;
  private timer: NodeJS.Timeout | undefined;
  private carrying: Promise<void> = Promise.resolve();

  constructor(
    url: string,
    private readonly problems: ProblemLog,
    private readonly options: RedisStoreOptions = {},
  ) {
    this.redis = connect(url, (what) => problems.add(what));
    this.stored = options.stored ?? redisStore(this.redis, STORED);
    this.replica = redisStore(this.redis, { ...STORED, prefix: REPLICA_PREFIX });
    this.carryAfter(TICK_MS);
  }

  seen(user: string): Promise<ShardChain> {
    return this.ask(() => this.stored.read(user));
  }

  async replicaSeen(user: string): Promise<ShardChain> {
    const { replicaLags } = await this.stream(user);
    return this.ask(() => (replicaLags ? this.replica : this.stored).read(user));
  }

  page(user: string, ranked: readonly Item[], options: PageOptions): Promise<Page<Item>> {
    return this.ask(() => this.stored.page(user, ranked, { ...options, id: groupIdOf }));
  }

  accept(user: string, body: unknown): Promise<ReceivedReport> {
    return this.ask(() => this.stored.accept(user, body));
  }

  async enqueue(user: string, events: readonly SeenEvent[]): Promise<void> {
    if (events.length === 0) return;
    const list = underWayKey(user);
    const stream = await this.stream(user);
    if (stream.waiting + events.length > MOST_WAITING) throw new StreamFull();
    const { kept, lost } = loseSome(events, stream.accepted, stream);
    const now = Date.now();
    const fieldsOf = this.options.fieldsOf ?? fieldsOfEvent;
    const entries = kept.map((event) => `${String(now)} ${JSON.stringify(fieldsOf(user, event))}`);
    await this.ask((redis) => {
      const commands = redis
        .multi()
        .hincrby(controlKey(user), "accepted", events.length)
        .hincrby(controlKey(user), "lost", lost)
        .expire(controlKey(user), WINDOW_SECONDS);
      if (entries.length > 0)
        commands
          .rpush(list, ...entries)
          .expire(list, WINDOW_SECONDS)
          .sadd(UNDER_WAY, user);
      return carryOut(commands);
    });
  }

  async control(user: string, change: Partial<StreamControl>): Promise<StreamControl> {
    const key = controlKey(user);
    const before = await this.stream(user);
    const fields = Object.entries(change).flatMap(([name, value]) => [name, String(Number(value))]);
    if (fields.length > 0) {
      await this.ask((redis) => {
        const commands = redis
          .multi()
          .hset(key, ...fields)
          .expire(key, WINDOW_SECONDS);
        // The replica stops following here. `COPY` writes nothing where there is nothing to copy.
        if (change.replicaLags === true && !before.replicaLags)
          for (const [from, to] of copiesOf(user)) commands.del(to).copy(from, to);
        return carryOut(commands);
      });
    }
    const { running, lagSeconds, losesEvents, replicaLags } = { ...before, ...change };
    return { running, lagSeconds, losesEvents, replicaLags };
  }

  async stream(user: string): Promise<StreamStatus> {
    const [fields, waiting] = await this.ask((redis) =>
      Promise.all([redis.hgetall(controlKey(user)), redis.llen(underWayKey(user))]),
    );
    const is = (name: "running" | "losesEvents" | "replicaLags"): boolean => {
      const value = fields[name];
      return value === undefined ? DEFAULT_CONTROL[name] : value === "1";
    };
    return {
      running: is("running"),
      lagSeconds: Number(fields.lagSeconds ?? this.lagSeconds),
      losesEvents: is("losesEvents"),
      replicaLags: is("replicaLags"),
      accepted: Number(fields.accepted ?? 0),
      waiting,
      lost: Number(fields.lost ?? 0),
    };
  }

  forget(user: string): Promise<void> {
    return this.ask(() => this.stored.forget(user));
  }

  async flush(user: string): Promise<void> {
    await this.ask((redis) => redis.del(seenKey(user), metaKey(seenKey(user)), pendingKey(seenKey(user))));
  }

  async status(): Promise<StoreStatus> {
    try {
      const texts = await this.ask((redis) => redis.lrange(PROBLEMS, 0, -1));
      return { kind: "redis", available: true, problems: texts.map((text) => JSON.parse(text) as Problem) };
    } catch {
      return { kind: "redis", available: false, problems: this.problems.list() };
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.carrying;
    this.redis.disconnect();
  }

  private get lagSeconds(): number {
    return this.options.lagSeconds ?? DEFAULT_CONTROL.lagSeconds;
  }

  private async ask<T>(question: (redis: ScriptedRedis) => Promise<T>): Promise<T> {
    try {
      return await question(this.redis);
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  private carryAfter(delayMs: number): void {
    this.timer = setTimeout(() => {
      this.carrying = this.carry()
        .catch(() => undefined) // no connection, which has been reported; what is under way stays there
        .then(() => {
          if (this.timer !== undefined) this.carryAfter(TICK_MS);
        });
    }, delayMs);
  }

  /** Lets everybody's events that have been under way for long enough into the stream. */
  private async carry(): Promise<void> {
    if (this.redis.status !== "ready") return;
    for (const user of await this.redis.smembers(UNDER_WAY)) {
      await this.redis.carry(
        underWayKey(user),
        controlKey(user),
        IMPRESSIONS,
        UNDER_WAY,
        user,
        Date.now(),
        this.lagSeconds,
        CARRIED_AT_ONCE,
      );
    }
  }
}

/** As layout.ts describes an entry. */
const fieldsOfEvent = (user: string, { kind, id, at }: SeenEvent) => [
  ...["user", user, "kind", kind],
  ...["id", id, "at", String(at)],
];

/** What the replica has of a person: copies of the list and of the hash beside it. */
function copiesOf(user: string): [from: string, to: string][] {
  const [from, to] = [seenKey(user), replicaKey(user)];
  return [
    [from, to],
    [metaKey(from), metaKey(to)],
  ];
}
