/** The controls of the server's stream and its failures, and their state on the server. */
import type { SeenGuard } from "seenguard";
import { fetchServerStatus, type Api, type Condition, type Status, type Stream, type StreamControl } from "./api.ts";
import { one } from "./column.ts";
import { count, lag } from "./format.ts";

const POLL_MS = 1500;

/** The control of each condition. */
const CONTROLS: Readonly<Record<Condition, string>> = {
  running: "#running",
  lagSeconds: "#lag",
  losesEvents: "#loses-events",
  replicaLags: "#replica-lags",
  flush: "#flush-store",
};

const THE_CONSUMER = "the consumer of seenguard-server ingests them: the switch ends it, and starts it again.";

/** The pipeline of reports, if it is not the memory of the demo's server. */
const PIPELINES = {
  redis: `Reports wait in a stream of Redis, and ${THE_CONSUMER}`,
  kafka: `Reports wait in Kafka, and ${THE_CONSUMER}`,
  flink: "Reports wait in Kafka, and a job of Apache Flink ingests them: the switch ends it, and starts it again.",
};

export interface StreamParts {
  readonly api: Api;
  readonly guard: SeenGuard;
  /** Returns whether the status's snapshot, if any, could be applied. */
  readonly onStatus: (status: Status) => boolean;
  readonly onTrouble: (error: unknown) => void;
}

export class StreamPanel {
  private readonly running = one(document, "#running") as HTMLInputElement;
  private readonly lag = one(document, "#lag") as HTMLInputElement;
  private readonly losesEvents = one(document, "#loses-events") as HTMLInputElement;
  private readonly replicaLags = one(document, "#replica-lags") as HTMLInputElement;
  private readonly pipeline = one(document, "#pipeline");
  /** The state of the latest applied snapshot. */
  private state: string | undefined;
  /** Counts the person's changes: a status requested before one is out of date. */
  private changing = 0;

  constructor(private readonly parts: StreamParts) {
    this.running.addEventListener("change", () => void this.change({ running: this.running.checked }));
    this.lag.addEventListener("input", () => {
      this.changing += 1;
      this.describe();
    });
    this.lag.addEventListener("change", () => void this.change({ lagSeconds: this.lag.valueAsNumber }));
    this.losesEvents.addEventListener("change", () => void this.change({ losesEvents: this.losesEvents.checked }));
    this.replicaLags.addEventListener("change", () => void this.change({ replicaLags: this.replicaLags.checked }));
    void this.poll();
    void this.showBackEnd();
  }

  private async showBackEnd(): Promise<void> {
    try {
      const { kind, cannot, dashboard } = await fetchServerStatus();
      for (const [condition, reason] of Object.entries(cannot)) greyOut(CONTROLS[condition as Condition], reason);
      this.describe();
      if (kind === "memory") return;
      one(document, "#way-text").textContent = PIPELINES[kind];
      one(document, "#way").removeAttribute("hidden");
      if (dashboard === undefined) return;
      const link = one(document, "#flink-dashboard") as HTMLAnchorElement;
      link.href = dashboard;
      link.hidden = false;
    } catch (error) {
      this.parts.onTrouble(error);
    }
  }

  /**
   * Polls the status, and with it the snapshot if it has changed: so the page learns which impressions have arrived.
   */
  private async poll(): Promise<void> {
    if (document.visibilityState === "visible") await this.ask();
    setTimeout(() => void this.poll(), POLL_MS);
  }

  private async ask(): Promise<void> {
    const changes = this.changing;
    try {
      const status = await this.parts.api.status(this.state, this.parts.guard.headers());
      if (changes === this.changing) this.show(status.stream);
      this.showTraffic(status);
      if (this.parts.onStatus(status)) this.state = status.state;
    } catch (error) {
      this.parts.onTrouble(error);
    }
  }

  private async change(change: Partial<StreamControl>): Promise<void> {
    this.changing += 1;
    this.describe();
    try {
      this.show(await this.parts.api.control(change));
    } catch (error) {
      this.parts.onTrouble(error);
    }
  }

  private show({ running, lagSeconds = 0, losesEvents = false, replicaLags = false }: Stream): void {
    this.running.checked = running;
    this.losesEvents.checked = losesEvents;
    this.replicaLags.checked = replicaLags;
    this.lag.value = String(lagSeconds);
    this.describe();
  }

  private describe(): void {
    const running = this.running.checked;
    one(document, "#running-text").textContent = running ? "The stream runs" : "The stream is stopped";
    const lagText = this.lag.disabled ? "" : lag(this.lag.valueAsNumber);
    one(document, "#lag-text").textContent = lagText;
    this.lag.setAttribute("aria-valuetext", lagText);
    this.pipeline.classList.toggle("stopped-stream", !running);
  }

  /** If the server does not count, the guard's numbers are used: pending impressions are on the way. */
  private showTraffic({ stream }: Status): void {
    const { pending, remembered } = this.parts.guard.stats();
    const { accepted = remembered, waiting = pending, lost = 0 } = stream;
    one(document, "#pipeline-waiting").textContent = count(waiting);
    one(document, "#pipeline-known").textContent = count(accepted - waiting - lost);
    one(document, "#lost").textContent = count(lost);
    this.pipeline.classList.toggle("flowing", stream.running && waiting > 0);
  }
}

function greyOut(selector: string, reason: string): void {
  const control = one(document, selector) as HTMLInputElement | HTMLButtonElement;
  const note = document.createElement("small");
  note.className = "why-not";
  note.id = `${control.id}-why-not`;
  note.textContent = reason;
  control.disabled = true;
  control.setAttribute("aria-describedby", note.id);
  (control.closest("label") ?? control).after(note);
}
