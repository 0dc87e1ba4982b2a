/** The virtual clock of the tabs and their server, a multiple of the speed of the machine's clock. */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export interface ClockSettings {
  /** The machine's time at the start, Unix ms. */
  readonly startedMs: number;
  /** The virtual time at the start, Unix ms. */
  readonly epochMs: number;
  readonly rate: number;
}

export class VirtualClock {
  constructor(readonly settings: ClockSettings) {}

  static start(rate: number): VirtualClock {
    const now = Date.now();
    return new VirtualClock({ startedMs: now, epochMs: now, rate });
  }

  /** The virtual time, Unix ms. */
  now(): number {
    const { startedMs, epochMs, rate } = this.settings;
    return epochMs + (Date.now() - startedMs) * rate;
  }

  /** The virtual days since the start. */
  day(): number {
    return (this.now() - this.settings.epochMs) / DAY_MS;
  }

  /** Converts a virtual duration to the machine's. */
  realMs(virtualMs: number): number {
    return virtualMs / this.settings.rate;
  }
}
