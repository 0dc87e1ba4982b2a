/** The controls of the server: of its stream, and of what goes wrong with it; and what the server says of them. */
import { fetchServerStatus, type Api, type Status, type StreamControl } from "./api.ts";
import { one } from "./column.ts";
import { count, lag } from "./format.ts";

const POLL_MS = 1500;

export interface StreamParts {
  readonly api: Api;
  readonly headers: () => Record<string, string>;
  /** Whether the snapshot that the status brought, if any, could be used. */
  readonly onStatus: (status: Status) => boolean;
  readonly onTrouble: (error: unknown) => void;
}

export class StreamPanel {
  private readonly running = one(document, "#running") as HTMLInputElement;
  private readonly lag = one(document, "#lag") as HTMLInputElement;
  private readonly losesEvents = one(document, "#loses-events") as HTMLInputElement;
  private readonly replicaLags = one(document, "#replica-lags") as HTMLInputElement;
  private readonly pipeline = one(document, "#pipeline");
  /** The server's snapshot that came last. */
  private state: string | undefined;
  /** While the person changes a control, what the server says of it is out of date. */
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
    void this.showConsumer();
  }

  /** Where Flink consumes, the page counts what Flink was given: what it has taken in, only the guard can tell. */
  private async showConsumer(): Promise<void> {
    try {
      const { flink } = await fetchServerStatus();
      if (flink === undefined) return;
      (one(document, "#flink-dashboard") as HTMLAnchorElement).href = flink.dashboard;
      one(document, "#pipeline-known-text").textContent = "given to Flink";
      one(document, "#flink").removeAttribute("hidden");
    } catch (error) {
      this.parts.onTrouble(error);
    }
  }

  /**
   * Every while, and with it the state of the server if it has changed: that is how the page learns what has arrived.
   */
  private async poll(): Promise<void> {
    if (document.visibilityState === "visible") await this.ask();
    setTimeout(() => void this.poll(), POLL_MS);
  }

  private async ask(): Promise<void> {
    const changes = this.changing;
    try {
      const status = await this.parts.api.status(this.state, this.parts.headers());
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

  private show({ running, lagSeconds, losesEvents, replicaLags }: StreamControl): void {
    this.running.checked = running;
    this.losesEvents.checked = losesEvents;
    this.replicaLags.checked = replicaLags;
    this.lag.value = String(lagSeconds);
    this.describe();
  }

  private describe(): void {
    const running = this.running.checked;
    one(document, "#running-text").textContent = running ? "The stream runs" : "The stream is stopped";
    one(document, "#lag-text").textContent = lag(this.lag.valueAsNumber);
    this.lag.setAttribute("aria-valuetext", lag(this.lag.valueAsNumber));
    this.pipeline.classList.toggle("stopped-stream", !running);
  }

  private showTraffic({ stream }: Status): void {
    one(document, "#pipeline-waiting").textContent = count(stream.waiting);
    one(document, "#pipeline-known").textContent = count(stream.accepted - stream.waiting - stream.lost);
    one(document, "#lost").textContent = count(stream.lost);
    this.pipeline.classList.toggle("flowing", stream.running && stream.waiting > 0);
  }
}
