/** The report of one component: the framework-independent part of `useReport`. */
import { addressOf } from "../delivery/request.js";
import type { ReportOptions, SeenGuard } from "../types/seenguard.js";

type Options = ReportOptions | null | undefined;

/** A key whose change begins another report. */
export function reportKey(options: Options): string | undefined {
  return options ? addressOf(options) : undefined;
}

export class Reporting {
  private guard: SeenGuard | undefined;
  private options: Options;
  private stop = (): void => {};

  /** Starts the report, if there are a guard and options. Returns stop. */
  begin(guard: SeenGuard | null | undefined, options: Options): () => void {
    if (!guard || !options) return () => {};
    this.stop = guard.report(options);
    [this.guard, this.options] = [guard, options];
    return () => {
      this.stop();
      this.guard = undefined;
    };
  }

  /** Has the running report use these options. With another key another report begins. */
  replace(options: Options): void {
    if (!this.guard || !options || options === this.options || reportKey(options) !== reportKey(this.options)) return;
    const former = this.stop;
    this.stop = this.guard.report(options);
    this.options = options;
    former();
  }
}
