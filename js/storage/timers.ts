/** Timers that pause while the page is hidden, and are stopped together. */
import { isHidden, type Clock } from "../platform/host.js";

/** The least that is left of a timer after the page was hidden, so that pending responses may come first. */
const MIN_LEFT_MS = 1_000;

interface Timer {
  readonly run: () => void;
  leftMs: number;
  dueMs: number;
  cancel: () => void;
}

export class VisibleTimers {
  areRunning = !isHidden();
  private readonly timers = new Set<Timer>();
  private isStopped = false;

  constructor(private readonly clock: Clock) {}

  /** Unix ms. */
  nowMs(): number {
    return this.clock.wallMs();
  }

  /** Runs a function once, after this time during which the page is visible. Returns cancel. */
  after(ms: number, run: () => void): () => void {
    if (this.isStopped) return () => {};
    const timer: Timer = { run, leftMs: ms, dueMs: 0, cancel: () => {} };
    this.timers.add(timer);
    if (this.areRunning) this.start(timer);
    return () => {
      timer.cancel();
      this.timers.delete(timer);
    };
  }

  private start(timer: Timer): void {
    timer.dueMs = this.nowMs() + timer.leftMs;
    timer.cancel = this.clock.after(timer.leftMs, () => {
      this.timers.delete(timer);
      timer.run();
    });
  }

  pause(): void {
    if (!this.areRunning) return;
    this.areRunning = false;
    for (const timer of this.timers) {
      timer.cancel();
      timer.leftMs = Math.max(MIN_LEFT_MS, Math.min(timer.leftMs, timer.dueMs - this.nowMs()));
    }
  }

  resume(): void {
    this.areRunning = true;
    this.timers.forEach((timer) => this.start(timer));
  }

  stop(): void {
    this.isStopped = true;
    for (const { cancel } of this.timers) cancel();
    this.timers.clear();
  }
}
