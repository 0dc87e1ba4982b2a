/** A person whose device reports what was looked at and what became unseen, one report after the other. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { RunningService } from "../../../scripts/lib/service.mjs";
import { until } from "../../support/processes.ts";
import { ANSWER_MS, pageOf } from "./deployment.ts";

const PAUSE_MS = 20;
/** For a broker that was killed to be there again. */
const OUTAGE_MS = 180_000;
const FRESH = "never shown";

/** Of an item, in this order: one is seen, another is not any more, the last one is again. */
const LIVES = [["look"], ["look", "unsee"], ["look", "unsee", "look"]] as const;

export class Person {
  /** How many of the reports were acknowledged, and how many answers were that the stream is away. */
  acknowledged = 0;
  refused = 0;
  /** Whether each item is to be stopped, after what was acknowledged. */
  private readonly stopped = new Map<string, boolean>();

  constructor(
    private readonly service: RunningService,
    readonly user: string,
  ) {}

  /** Goes on until `isOver`, after an acknowledgement. */
  async readUntil(isOver: () => boolean): Promise<void> {
    for (let number = 0; ; number++) {
      const id = `${this.user}-${number}`;
      for (const action of LIVES[number % LIVES.length] ?? []) {
        if (isOver()) return;
        await this.report(id, action);
        await pause(PAUSE_MS);
      }
    }
  }

  /** Sends it until it is acknowledged, as devices do. */
  private async report(id: string, action: "look" | "unsee"): Promise<void> {
    const change = [{ id, at: Date.now() }];
    const changes = action === "look" ? { impressions: change } : { impressions: [], unseen: change };
    const acknowledged = async () => {
      const answer = await fetch(`${this.service.url}/v1/users/${this.user}/impressions`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ namespace: `home:${this.user}`, now: Date.now(), ...changes }),
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      if (answer.status === 204) return true;
      expect([answer.status, await answer.json()]).toMatchObject([503, { code: "stream" }]);
      this.refused++;
      return false;
    };
    await until(`a report of ${this.user} is acknowledged`, acknowledged, OUTAGE_MS);
    this.acknowledged++;
    this.stopped.set(id, action === "look");
  }

  /** Expects the service to stop what the person has seen, and nothing else. */
  async expectNoRepeats(): Promise<void> {
    const fresh = [...this.stopped].filter(([, isStopped]) => !isStopped).map(([id]) => id);
    const page = await pageOf(this.service, this.user, [...this.stopped.keys(), FRESH]);
    expect(page).toEqual([...fresh, FRESH]);
  }
}
