/**
 * The stream lag over the last five minutes: a line, for how long the oldest impression has been pending, and a dot for
 * each snapshot that covered some. Drawn in units of seconds by 0 to 100 and stretched, so it fits any width.
 */
import { make, makeSvg, write } from "./elements.js";
import { duration, plural } from "./format.js";
import type { Monitor } from "./monitor.js";

const WINDOW_MS = 300_000;
const HEIGHT = 100;
/** Possible ends of the vertical axis, seconds; above these, whole hours. */
const SCALES = [5, 10, 20, 30, 60, 120, 180, 300, 600, 1200, 1800, 3600];

export class LagPlot {
  readonly root: HTMLElement;
  private readonly area = makeSvg("path", { class: "area" });
  private readonly line = makeSvg("path", { class: "line" });
  private readonly dots = makeSvg("path", { class: "dots" });
  private readonly top = make("span", "top");
  private readonly caption = make("figcaption");

  constructor() {
    const viewBox = `0 0 ${WINDOW_MS / 1000} ${HEIGHT}`;
    const grid = makeSvg("path", { class: "grid", d: `M0 0H${WINDOW_MS / 1000}M0 ${HEIGHT / 2}H${WINDOW_MS / 1000}` });
    const parts = [grid, this.area, this.line, this.dots];
    const svg = makeSvg("svg", { viewBox, preserveAspectRatio: "none" }, ...parts);
    const legend = make("p", "legend", make("span", "waiting", "oldest pending"), make("span", "covered", "covered"));
    const times = make("p", "times", make("span", "", `${duration(WINDOW_MS)} ago`), make("span", "", "now"));
    const drawing = make("div", "plot", legend, make("div", "canvas", svg, this.top), times);
    // The caption has the same information in words.
    drawing.setAttribute("aria-hidden", "true");
    this.root = make("figure", "", drawing, this.caption);
  }

  show(monitor: Monitor, pending: number): void {
    const { samples } = monitor;
    const now = samples[samples.length - 1]?.atMs ?? 0;
    const shown = samples.filter(({ atMs }) => now - atMs <= WINDOW_MS);
    const seconds = Math.max(...shown.flatMap(({ waitingMs, coveredMs = 0 }) => [waitingMs, coveredMs])) / 1000;
    const top = SCALES.find((scale) => seconds <= scale) ?? Math.ceil(seconds / 3600) * 3600;
    const point = (atMs: number, ms: number) =>
      `${((WINDOW_MS - now + atMs) / 1000).toFixed(1)} ${(HEIGHT * (1 - ms / 1000 / top)).toFixed(1)}`;
    const line = shown.map(({ atMs, waitingMs }) => point(atMs, waitingMs)).join("L");
    this.line.setAttribute("d", line && `M${line}`);
    this.area.setAttribute("d", line && `M${point(shown[0]?.atMs ?? 0, 0)}L${line}V${HEIGHT}`);
    const covered = shown.filter(({ coveredMs }) => coveredMs !== undefined);
    this.dots.setAttribute("d", covered.map(({ atMs, coveredMs = 0 }) => `M${point(atMs, coveredMs)}h0`).join(""));
    write(this.top, duration(top * 1000));
    write(this.caption, inWords(shown[shown.length - 1]?.waitingMs ?? 0, pending, monitor));
  }
}

function inWords(waitingMs: number, pending: number, { covered, lagsMs }: Monitor): string {
  const waits =
    pending === 0 ? "Nothing is pending." : `The oldest pending impression has waited ${duration(waitingMs)}.`;
  if (covered === 0) return waits;
  const sorted = [...lagsMs].sort((a, b) => a - b);
  const within = (share: number) => duration(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  const spread = `half within ${within(0.5)}, 95% within ${within(0.95)}`;
  return `${waits} ${plural(covered, "impression")} reached the server: ${spread}.`;
}
