/**
 * The stream's lag over time: for how long the oldest impression has been pending, and, as points, how long each took
 * until a state of the server covered it. An upper bound, as a device sees it: sampled when states of the server
 * arrive.
 */
import type { SeenGuard } from "seenguard";
import uPlot from "uplot";
import { one } from "./column.ts";
import { lag, plural } from "./format.ts";

const SAMPLE_MS = 1000;
const WINDOW_SAMPLES = 300;
const HEIGHT = 120;

/** Of one second, in seconds; nothing where nothing was pending or covered. */
interface Sample {
  readonly at: number;
  readonly oldestPending: number;
  readonly covered: number | null;
}

export class LagChart {
  private readonly samples: Sample[] = [];
  /** The longest of those covered since the last sample. */
  private longestCovered: number | null = null;
  private plot: uPlot | undefined;

  constructor(private readonly figure: Element) {
    const canvas = one(figure, ".plot") as HTMLElement;
    const draw = (): void => {
      this.plot?.destroy();
      this.plot = canvas.clientWidth > 0 ? new uPlot(options(canvas), this.data(), canvas) : undefined;
    };
    // A panel that opens, a window that changes, and colours that change: it is drawn anew.
    new ResizeObserver(draw).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  /** An impression has been covered, so long after it was recorded. */
  covered(lagMs: number): void {
    this.longestCovered = Math.max(this.longestCovered ?? 0, lagMs / 1000);
  }

  /** Looks at the guard every second from now on. */
  follow(guard: SeenGuard): void {
    this.sample(guard);
    setInterval(() => this.sample(guard), SAMPLE_MS);
  }

  private sample(guard: SeenGuard): void {
    this.samples.push({ at: Date.now() / 1000, oldestPending: oldestPending(guard), covered: this.longestCovered });
    this.samples.splice(0, this.samples.length - WINDOW_SAMPLES);
    this.longestCovered = null;
    if (document.visibilityState === "hidden") return;
    this.plot?.setData(this.data());
    one(this.figure, "figcaption").textContent = inWords(this.samples.at(-1)?.oldestPending ?? 0, guard);
  }

  private data(): uPlot.AlignedData {
    const { samples } = this;
    return [
      samples.map(({ at }) => at),
      samples.map((sample) => sample.oldestPending),
      samples.map((sample) => sample.covered),
    ];
  }
}

/** For how many seconds; 0 when nothing is pending. */
function oldestPending(guard: SeenGuard): number {
  const [id] = guard.pending(1);
  const why = id === undefined ? undefined : guard.explain(id);
  return why?.seen === true && why.by === "pending" ? Math.max(0, (Date.now() - why.at.getTime()) / 1000) : 0;
}

/** What the chart shows, for everybody. */
function inWords(oldestPendingSeconds: number, guard: SeenGuard): string {
  const { count, p50Ms, p95Ms } = guard.stats().lag;
  const pending =
    guard.stats().pending === 0
      ? "Nothing is pending."
      : `The oldest pending impression has waited ${lag(Math.round(oldestPendingSeconds))}.`;
  if (count === 0 || p50Ms === undefined || p95Ms === undefined) return pending;
  const seconds = (ms: number): string => lag(Math.round(ms / 1000));
  const spread = `half within ${seconds(p50Ms)}, 95% within ${seconds(p95Ms)}`;
  return `${pending} ${plural(count, "impression")} reached the server: ${spread}.`;
}

function options(canvas: HTMLElement): uPlot.Options {
  const style = getComputedStyle(canvas);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: colour("--soft"),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: canvas.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(5, most * 1.1)] } },
    axes: [
      {
        ...axis,
        size: 22,
        space: 80,
        values: (_plot, times) =>
          times.map((time) => new Date(time * 1000).toLocaleTimeString("en", { hour12: false })),
      },
      { ...axis, size: 44, space: 30, values: (_plot, values) => values.map((value) => lag(value)) },
    ],
    series: [
      {},
      { label: "Oldest pending", stroke: colour("--bad"), width: 2, points: { show: false } },
      {
        label: "Covered",
        stroke: colour("--good"),
        paths: () => null,
        points: { show: true, size: 6, fill: colour("--good") },
      },
    ],
  };
}
