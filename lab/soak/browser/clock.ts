/** The clock that the tabs and their server share: it runs N times as fast as the machine's. */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export interface ClockSettings {
  /** Unix ms of the machine's clock when the virtual one began. */
  readonly startedMs: number;
  /** Unix ms that the virtual clock began with. */
  readonly epochMs: number;
  readonly rate: number;
}

export class VirtualClock {
  constructor(readonly settings: ClockSettings) {}

  static start(rate: number): VirtualClock {
    const now = Date.now();
    return new VirtualClock({ startedMs: now, epochMs: now, rate });
  }

  /** Virtual Unix ms. */
  now(): number {
    const { startedMs, epochMs, rate } = this.settings;
    return epochMs + (Date.now() - startedMs) * rate;
  }

  /** Virtual days since the beginning. */
  day(): number {
    return (this.now() - this.settings.epochMs) / DAY_MS;
  }

  /** How long the machine's clock takes for so much virtual time. */
  realMs(virtualMs: number): number {
    return virtualMs / this.settings.rate;
  }
}
