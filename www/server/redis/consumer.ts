/**
 * One consumer of the stream: it takes events into what is stored of each person, and then acknowledges them.
 *
 * An entry stays with the group until it is acknowledged, so nothing is lost whenever a consumer dies: started again
 * under the same name it first reads what it had been given before, and what belonged to one that never came back is
 * claimed by the others. An entry may therefore be taken in twice, which changes nothing.
 */
import { once } from "node:events";
import { redisStore, type SeenStore } from "seenguard/server";
import { CHAIN_OPTIONS, changeSeen } from "../chain.ts";
import { takeEvents, type SeenEvent } from "../events.ts";
import { describeUnreadable, type ProblemLog } from "../store.ts";
import { carryOut, connect, type ScriptedRedis } from "./connection.ts";
import { IMPRESSIONS, PROBLEMS, RECORDERS, UNREADABLE } from "./layout.ts";

/** An entry as Redis gives it: its fields as name, value, name, value; null once it has been deleted. */
type Entry = readonly [entryId: string, fields: readonly string[] | null];

export interface ConsumerOptions {
  /** Stays the same when the consumer is started again. */
  readonly name: string;
  /** Entries recorded in one go. */
  readonly batchSize?: number;
  /** An entry that another consumer has held for so long is taken over from it. */
  readonly abandonedAfterMs?: number;
}

const WAIT_FOR_ENTRIES_MS = 1000;
const PAUSE_AFTER_ERROR_MS = 500;

export class Consumer {
  private readonly redis: ScriptedRedis;
  private readonly stored: SeenStore;
  private readonly name: string;
  private readonly batchSize: number;
  private readonly abandonedAfterMs: number;
  private readonly finished: Promise<void>;
  private stopping = false;
  private lastClaimAt = 0;

  /** Starts at once, on a connection of its own: it waits for entries on it. */
  constructor(
    url: string,
    options: ConsumerOptions,
    private readonly problems: ProblemLog,
  ) {
    this.name = options.name;
    this.batchSize = options.batchSize ?? 500;
    this.abandonedAfterMs = options.abandonedAfterMs ?? 15_000;
    this.redis = connect(url, (what) => problems.add(`consumer ${this.name}: ${what}`));
    this.stored = redisStore(this.redis, CHAIN_OPTIONS);
    this.finished = this.run();
  }

  /** Ends after the batch in hand. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.finished;
    this.redis.disconnect();
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      try {
        await this.joinGroup();
        await this.recordOwnUnacknowledged();
        await this.recordNewOnes();
      } catch (error) {
        if (this.redis.status === "ready" && !isGroupGone(error)) this.report(`starts again: ${String(error)}`);
        await this.pause();
      }
    }
  }

  /** A while, or until there is a connection again. */
  private async pause(): Promise<void> {
    await once(this.redis, "ready", { signal: AbortSignal.timeout(PAUSE_AFTER_ERROR_MS) }).catch(() => undefined);
  }

  private async joinGroup(): Promise<void> {
    try {
      await this.redis.xgroup("CREATE", IMPRESSIONS, RECORDERS, "0", "MKSTREAM");
    } catch (error) {
      if (!String(error).includes("BUSYGROUP")) throw error; // it exists
    }
  }

  private async recordNewOnes(): Promise<void> {
    while (!this.stopping) {
      await this.recordAbandoned();
      await this.record(await this.read(">"));
    }
  }

  /** What this consumer was given before it was last stopped. */
  private async recordOwnUnacknowledged(): Promise<void> {
    let after = "0";
    for (;;) {
      const entries = await this.read(after);
      const last = entries.at(-1);
      if (last === undefined || this.stopping) return;
      await this.record(entries);
      after = last[0];
    }
  }

  /** What anyone, this consumer included, was given long ago and has not acknowledged. */
  private async recordAbandoned(): Promise<void> {
    if (performance.now() - this.lastClaimAt < this.abandonedAfterMs / 2) return;
    let from = "0-0";
    do {
      const claimed = (await this.redis.xautoclaim(
        IMPRESSIONS,
        RECORDERS,
        this.name,
        this.abandonedAfterMs,
        from,
        "COUNT",
        this.batchSize,
      )) as [next: string, entries: Entry[]];
      await this.record(claimed[1]);
      from = claimed[0];
    } while (from !== "0-0" && !this.stopping);
    this.lastClaimAt = performance.now();
  }

  /**
   * Entries after `position`, of this consumer's own unacknowledged ones; with ">", new ones, waiting for them a while.
   */
  private async read(position: string): Promise<readonly Entry[]> {
    const streams = await this.redis.xreadgroup(
      "GROUP",
      RECORDERS,
      this.name,
      "COUNT",
      this.batchSize,
      "BLOCK",
      WAIT_FOR_ENTRIES_MS,
      "STREAMS",
      IMPRESSIONS,
      position,
    );
    return streams?.[0]?.[1] ?? [];
  }

  /** One update for each person in the batch; one person's trouble keeps nobody else's impressions waiting. */
  private async record(entries: readonly Entry[]): Promise<void> {
    const byUser = new Map<string, { events: SeenEvent[]; entryIds: string[] }>();
    for (const [entryId, fields] of entries) {
      const entry = fields === null ? undefined : readEntry(fields);
      if (entry === undefined) {
        await this.setAside(entryId, fields);
        continue;
      }
      const own = byUser.get(entry.user) ?? { events: [], entryIds: [] };
      own.events.push(entry.event);
      own.entryIds.push(entryId);
      byUser.set(entry.user, own);
    }
    for (const [user, { events, entryIds }] of byUser) await this.recordPerson(user, events, entryIds);
  }

  private async recordPerson(user: string, events: readonly SeenEvent[], entryIds: readonly string[]): Promise<void> {
    try {
      const unreadable = await changeSeen(this.stored, user, (chain) => {
        takeEvents(chain, events);
      });
      for (const element of unreadable) this.report(describeUnreadable(element), user);
    } catch (error) {
      if (this.redis.status !== "ready") throw error;
      this.report(`events could not be taken in, and stay in the stream: ${String(error)}`, user);
      return;
    }
    await this.acknowledge(entryIds);
  }

  private async acknowledge(entryIds: readonly string[]): Promise<void> {
    await carryOut(
      this.redis
        .multi()
        .xack(IMPRESSIONS, RECORDERS, ...entryIds)
        .xdel(IMPRESSIONS, ...entryIds),
    );
  }

  /** An entry that is no event: nobody will ever be able to take it in. */
  private async setAside(entryId: string, fields: readonly string[] | null): Promise<void> {
    if (fields !== null) {
      await this.redis.xadd(UNREADABLE, "MAXLEN", "~", 1000, "*", "entry", entryId, "fields", JSON.stringify(fields));
      this.report(`entry ${entryId} of the stream is no event, and was set aside in ${UNREADABLE}`);
    }
    await this.acknowledge([entryId]);
  }

  /** To the log here, and for the servers' status page. */
  private report(what: string, user?: string): void {
    const problem = this.problems.add(`consumer ${this.name}: ${what}`, user);
    const kept = this.redis.multi().lpush(PROBLEMS, JSON.stringify(problem)).ltrim(PROBLEMS, 0, 49);
    carryOut(kept).catch(() => undefined); // it is in the log
  }
}

function readEntry(fields: readonly string[]): { user: string; event: SeenEvent } | undefined {
  const named = new Map<string, string>();
  for (let place = 0; place < fields.length; place += 2) named.set(fields[place] ?? "", fields[place + 1] ?? "");
  const [user, kind, id, at] = ["user", "kind", "id", "at"].map((name) => named.get(name));
  if (user === undefined || id === undefined || (kind !== "seen" && kind !== "unseen")) return undefined;
  return /^\d{1,15}$/.test(at ?? "") ? { user, event: { kind, id, at: Number(at) } } : undefined;
}

/** Redis was flushed or has lost its data: the group is made anew, and there is nothing to report. */
function isGroupGone(error: unknown): boolean {
  return /NOGROUP|UNBLOCKED/.test(String(error));
}
