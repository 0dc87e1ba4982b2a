/** The delay before the next request: exponential after failures, with jitter, and never less than `Retry-After`. */
import { retryDelayMs, type Clock } from "../platform/host.js";
import { MAX_RETRY_AFTER_MS } from "./request.js";

const MAX_RETRY_MS = 300_000;
/** After a 409: the session is another user's. */
const CONFLICT_MS = 900_000;

export class Backoff {
  /** The time of the first failure in a row, Unix ms. */
  failingSince: number | undefined;
  /** Whether the latest failure was a 409. */
  isConflict = false;
  /** The delay after the latest failure. */
  retryMs = 0;
  private failures = 0;
  private requestedUntilMs = 0;

  constructor(private readonly clock: Clock) {}

  get isFailing(): boolean {
    return this.failures > 0;
  }

  /** The rest of the delay that `Retry-After` requests; 0 if the clock has jumped back far. */
  get requestedMs(): number {
    const ms = this.requestedUntilMs - this.clock.wallMs();
    return ms > 0 && ms < 2 * MAX_RETRY_AFTER_MS ? ms : 0;
  }

  /** Applies a `Retry-After`, with jitter, so that the devices do not return at the same time. */
  postpone(ms: number): void {
    if (ms > 0) this.requestedUntilMs = this.clock.wallMs() + ms * (1 + Math.random() / 4);
  }

  succeeded(): void {
    [this.failures, this.failingSince, this.isConflict] = [0, undefined, false];
  }

  /** Notes a failure. Returns whether to report it: the first one in a row, and the first 409. */
  failed(status: number): boolean {
    const isConflict = status === 409;
    const isFirst = this.failures === 0 || (isConflict && !this.isConflict);
    this.isConflict = isConflict;
    this.retryMs = isConflict ? CONFLICT_MS : retryDelayMs(this.failures, MAX_RETRY_MS);
    this.failures++;
    this.failingSince ??= this.clock.wallMs();
    return isFirst;
  }
}
