/** Attributes the browser's long tasks (over 50 ms) to calls of the package, if the browser reports them. */
import { machineMs } from "./page-clock.ts";

export interface LongTask {
  readonly ms: number;
  /** The running calls; "" for background work and the app's own code. */
  readonly during: string;
}

interface Call {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** The time for which calls are stored, since an entry may arrive after its task. */
const KEPT_MS = 10_000;

export class Calls {
  private recent: Call[] = [];
  private readonly running = new Map<string, number>();
  private longTasks: LongTask[] = [];

  constructor() {
    if (!PerformanceObserver.supportedEntryTypes.includes("longtask")) return;
    new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries())
        this.longTasks.push({ ms: Math.round(duration), during: this.during(startTime, startTime + duration) });
    }).observe({ type: "longtask" });
  }

  run<T>(name: string, call: () => T): T {
    const start = machineMs();
    try {
      return call();
    } finally {
      this.ended(name, start);
    }
  }

  async time<T>(name: string, call: () => Promise<T>): Promise<T> {
    const start = machineMs();
    this.running.set(name, start);
    try {
      return await call();
    } finally {
      this.running.delete(name);
      this.ended(name, start);
    }
  }

  takeLongTasks(): LongTask[] {
    return this.longTasks.splice(0);
  }

  private ended(name: string, start: number): void {
    const end = machineMs();
    this.recent = [...this.recent.filter((call) => call.end > end - KEPT_MS), { name, start, end }];
  }

  private during(from: number, to: number): string {
    const ended = this.recent.filter(({ start, end }) => start < to && end > from).map(({ name }) => name);
    const running = [...this.running].filter(([, start]) => start < to).map(([name]) => name);
    return [...new Set([...ended, ...running])].join("+");
  }
}
