/** Events of the device, drawn from a seed day by day: outages, kills, a full storage, a stream that lags. */
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../../../www/server/random.ts";
import { HOUR_MS } from "./clock.ts";
import type { Device } from "./device.ts";

const TAB_KILLS_A_DAY = 2;
const OUTAGES = { aDay: 0.3, hours: [2, 8] } as const;
const FILLINGS = { aDay: 0.7, hours: [3, 10] } as const;
const BROWSER_KILLS_A_DAY = 0.5;
/**
 * The part of a run in which browsers are killed and storages filled. Afterwards the first tab stays open, so that the
 * growth of its memory can be measured. The storage has space then: Chromium 156 leaks the requests, with their
 * listeners, of each transaction that runs out of space after its `commit()`.
 */
export const UPHEAVAL_UNTIL = 1 / 3;
const LAG_HOURS = [0.2, 1, 6, 20];

interface Event {
  /** The time in days. */
  readonly at: number;
  readonly run: () => Promise<void>;
}

/** Runs the events at their times. @param day returns the current day */
export async function happen(device: Device, days: number, random: Random, day: () => number): Promise<void> {
  const running: Promise<void>[] = [];
  for (const { at, run } of planOf(device, days, random)) {
    while (day() < at) await pause(20);
    running.push(run().catch((error: unknown) => device.failed(error)));
  }
  await Promise.all(running);
}

function planOf(device: Device, days: number, random: Random): Event[] {
  const between = ([least, most]: readonly [number, number]) =>
    device.clock.realMs((least + random() * (most - least)) * HOUR_MS);
  const events: Event[] = [];
  for (let day = 0; day < days; day++) {
    const add = (share: number, run: Event["run"]) => {
      if (random() < share) events.push({ at: day + random(), run });
    };
    for (let kill = 0; kill < TAB_KILLS_A_DAY; kill++) {
      const slot = device.slots[1 + Math.floor(random() * (device.slots.length - 1))];
      if (slot) add(1, () => device.killTab(slot));
    }
    const [outageMs, fullMs] = [between(OUTAGES.hours), between(FILLINGS.hours)];
    add(OUTAGES.aDay, () => device.outage(outageMs));
    if (day < days * UPHEAVAL_UNTIL) {
      add(FILLINGS.aDay, () => device.fillStorage(fullMs));
      add(BROWSER_KILLS_A_DAY, () => device.killBrowser());
    }
    const lag = LAG_HOURS[Math.floor(random() * LAG_HOURS.length)] ?? 1;
    add(1, () => {
      device.site.lagMs = lag * HOUR_MS;
      return Promise.resolve();
    });
  }
  return events.sort((a, b) => a.at - b.at);
}
