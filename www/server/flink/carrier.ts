/**
 * Carries what has left the demo's lag from Redis to the service, which writes it into Kafka. An entry is deleted when
 * it is there, so one may go twice, which changes nothing.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { ReceivedReport } from "seenguard/server";
import { connect, type ScriptedRedis } from "../redis/connection.ts";
import { IMPRESSIONS } from "../redis/layout.ts";
import type { ServiceClient } from "../rust/client.ts";

const WAIT_FOR_ENTRIES_MS = 1000;
const PAUSE_AFTER_ERROR_MS = 500;

export class Carrier {
  private readonly redis: ScriptedRedis;
  private readonly finished: Promise<void>;
  private stopping = false;

  /** Starts at once, on a connection of its own: it waits for entries on it. */
  constructor(
    url: string,
    private readonly service: ServiceClient,
    private readonly say: (line: string) => void,
  ) {
    this.redis = connect(url, (what) => {
      say(`carrier: ${what}`);
    });
    this.finished = this.run();
  }

  /** Ends after the entries in hand. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.finished;
    this.redis.disconnect();
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      try {
        await this.carry();
      } catch (error) {
        if (this.redis.status === "ready") this.say(`carrier: starts again: ${String(error)}`);
        await wait(PAUSE_AFTER_ERROR_MS);
      }
    }
  }

  /** From the oldest on: what was carried is gone. */
  private async carry(): Promise<void> {
    const streams = await this.redis.xread("COUNT", 100, "BLOCK", WAIT_FOR_ENTRIES_MS, "STREAMS", IMPRESSIONS, "0");
    for (const [entryId, [, user = "", , report = ""]] of streams?.[0]?.[1] ?? []) {
      await this.service.ingest(user, JSON.parse(report) as ReceivedReport);
      await this.redis.xdel(IMPRESSIONS, entryId);
    }
  }
}
