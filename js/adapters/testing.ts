/** The entry `seenguard/testing`: a guard for an app's tests, and text encoders for platforms that have none. */
import { SeenGuard } from "seenguard";
import { CLOCK, type Clock, type ClockOption } from "../platform/host.js";
import { readGiven, refuse, warnOnce, type SeenGuardError } from "../errors.js";
import { isObject } from "../input/options.js";
import * as textEncoding from "../platform/text-encoding-polyfill.js";
import { provideTextEncoding } from "../platform/text-encoding.js";
import type { GuardOptions } from "../types/seenguard.js";

// Jest's jsdom has none.
provideTextEncoding(textEncoding);

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** A clock that moves only by `advance`. */
class TestClock implements Clock {
  private readonly startMs: number;
  private elapsedMs = 0;
  private readonly timers = new Set<Timer>();

  constructor(startMs: number) {
    this.startMs = startMs;
  }

  wallMs(): number {
    return this.startMs + this.elapsedMs;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { dueMs: this.elapsedMs + ms, run };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** Runs due timers, each at its time. */
  advance(ms: number): void {
    const endMs = this.elapsedMs + ms;
    for (;;) {
      const [next] = [...this.timers].sort((a, b) => a.dueMs - b.dueMs);
      if (!next || next.dueMs > endMs) break;
      this.timers.delete(next);
      this.elapsedMs = Math.max(this.elapsedMs, next.dueMs);
      next.run();
    }
    this.elapsedMs = endMs;
  }
}

/** The latest time of `Date`. */
const MAX_DATE_MS = 8.64e15;

let opened = 0;

type TestGuardOptions = Partial<GuardOptions> & { now?: number };

export async function openTestGuard(given: TestGuardOptions = {}) {
  const { now = Date.now(), ...options } = readGiven("bad-option", "the options of openTestGuard", () =>
    isObject(given) ? { ...given } : refuse("openTestGuard takes an object of options"),
  );
  checkMs(now, "now");
  const clock = new TestClock(now);
  const namespace = options.namespace ?? `test:${++opened}`;
  const report = options.onError ?? warnOnce();
  let alreadyOpen: SeenGuardError | undefined;
  const onError = (error: SeenGuardError) => {
    if (error.code === "already-open") alreadyOpen = error;
    else report(error);
  };
  const all: GuardOptions & ClockOption = { storage: "none", ...options, namespace, onError, [CLOCK]: clock };
  const guard = await SeenGuard.open(all);
  // It has another clock: an earlier test has left it open.
  if (alreadyOpen) {
    await guard.close();
    throw alreadyOpen;
  }
  return Object.assign(guard, {
    advance(ms: number): void {
      checkMs(ms, "advance", MAX_DATE_MS - clock.wallMs());
      clock.advance(ms);
    },
  });
}

function checkMs(ms: unknown, name: string, most = MAX_DATE_MS): void {
  if (!(typeof ms === "number" && ms >= 0 && ms <= most)) refuse(`${name} takes milliseconds from 0 up to ${most}`);
}
