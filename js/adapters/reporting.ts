/** The report of one component: the framework-independent part of `useReport`. */
import { addressOf } from "../delivery/request.js";
import type { ReportOptions, SeenGuard } from "../types/seenguard.js";
import { withLatest } from "./latest.js";

type Options = ReportOptions | null | undefined;

/** A key whose change begins another report. */
export function reportKey(options: Options): string | undefined {
  return options ? addressOf(options) : undefined;
}

/** A running report. After `stop` its options stay: requests in progress still need the former person's token. */
interface Run {
  readonly guard: SeenGuard;
  /** Those of the latest rendering. */
  options: ReportOptions;
  stop: () => void;
}

export class Reporting {
  private run: Run | undefined;

  /** Starts the report, if there are a guard and options. Returns stop. */
  begin(guard: SeenGuard | null | undefined, options: Options): () => void {
    if (!guard || !options) return () => {};
    const run: Run = { guard, options, stop: () => {} };
    run.stop = start(run, options);
    this.run = run;
    return () => {
      run.stop();
      this.run = undefined;
    };
  }

  /**
   * Replaces the options of the running report. It calls the new functions from now on; if other values have changed,
   * another report replaces it. With another key it does nothing: `begin` starts another report.
   */
  replace(options: Options): void {
    const { run } = this;
    if (!run || !options || reportKey(options) !== reportKey(run.options)) return;
    const { stop } = run;
    const continues = differOnlyInFunctions(run.options, options);
    // A request that waits for its headers ends with its report.
    if (!continues) run.stop = start(run, options);
    run.options = options;
    if (!continues) stop();
  }
}

function start(run: Run, options: ReportOptions): () => void {
  return run.guard.report(withLatest(options, (name) => run.options[name]));
}

function differOnlyInFunctions(former: ReportOptions, next: ReportOptions): boolean {
  const names = Object.keys({ ...former, ...next }) as (keyof ReportOptions)[];
  const areFunctions = (name: keyof ReportOptions) =>
    typeof former[name] === "function" && typeof next[name] === "function";
  return names.every((name) => former[name] === next[name] || areFunctions(name));
}
