/** A person whose device reports impressions and unseen ids, one report after the other. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { RunningService } from "../../../scripts/lib/service.mjs";
import { until } from "../../support/processes.ts";
import { ANSWER_MS, pageOf } from "./deployment.ts";

const PAUSE_MS = 20;
/** The timeout until a killed broker is up again. */
const OUTAGE_MS = 180_000;
const FRESH = "never shown";

/** The actions on items, in this order: one is seen; another is seen and unsees; the last one is seen again. */
const LIVES = [["see"], ["see", "unsee"], ["see", "unsee", "see"]] as const;

export class Person {
  /** The number of acknowledged reports, and of responses that the stream is unavailable. */
  acknowledged = 0;
  refused = 0;
  /** Whether each item must be stopped, by the acknowledged reports. */
  private readonly stopped = new Map<string, boolean>();

  constructor(
    private readonly service: RunningService,
    readonly user: string,
  ) {}

  /** Reports until `isOver`, checked after each acknowledgement. */
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

  /** Sends a report until it is acknowledged, like a device. */
  private async report(id: string, action: "see" | "unsee"): Promise<void> {
    const change = [{ id, at: Date.now() }];
    const changes = action === "see" ? { impressions: change } : { impressions: [], unseen: change };
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
    this.stopped.set(id, action === "see");
  }

  /** Expects that the service stops the person's seen items, and no others. */
  async expectNoRepeats(): Promise<void> {
    const fresh = [...this.stopped].filter(([, isStopped]) => !isStopped).map(([id]) => id);
    const page = await pageOf(this.service, this.user, [...this.stopped.keys(), FRESH]);
    expect(page).toEqual([...fresh, FRESH]);
  }
}
