/** Retries an operation after failures: after 1 s, doubling to 60 s, earlier on demand. */
import type { VisibleTimers } from "./timers.js";

const FIRST_MS = 1_000;
const MAX_MS = 60_000;

export class Retry {
  /** Whether the app was notified of the failures since the latest success. */
  isReported = false;
  /** Why the latest attempt has failed. */
  cause: unknown;
  private failures = 0;
  private failedMs = 0;
  private cancel = (): void => {};
  private cancelEarly = (): void => {};

  constructor(
    private readonly timers: VisibleTimers,
    private readonly run: () => void,
    private readonly onFailure: (cause: unknown) => void,
  ) {}

  get isFailing(): boolean {
    return this.failures > 0;
  }

  /** Whether the operation may run now. Within a second of a failure it may not: then it is scheduled. */
  mayRun(): boolean {
    if (!this.isFailing || Math.abs(this.timers.nowMs() - this.failedMs) >= FIRST_MS) return true;
    this.cancelEarly();
    this.cancelEarly = this.timers.after(FIRST_MS, this.run);
    return false;
  }

  /** Makes an attempt. If it fails, another one follows later. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.cancel();
      this.cancelEarly();
      [this.failures, this.isReported] = [0, false];
    } catch (cause) {
      this.failed(cause);
    }
  }

  failed(cause: unknown): void {
    this.cause = cause;
    // A run that `mayRun` has scheduled stays.
    this.cancel();
    this.failedMs = this.timers.nowMs();
    this.cancel = this.timers.after(Math.min(FIRST_MS * 2 ** this.failures++, MAX_MS), this.run);
    this.onFailure(cause);
  }
}
