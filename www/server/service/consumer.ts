/** The process that ingests reports: ended when the stream is stopped, and started again. */

export interface Process {
  stop(): Promise<void>;
}

export class Consumer {
  /** Whether it runs, or will as soon as it has started. */
  isWanted = false;
  private process: Process | undefined;
  private changing: Promise<void> = Promise.resolve();

  constructor(private readonly start: () => Promise<Process>) {}

  /** Resolves when it runs, or has ended. Of concurrent calls the latest counts. */
  run(wanted: boolean): Promise<void> {
    this.isWanted = wanted;
    const changed = this.changing.then(() => this.change());
    this.changing = changed.catch(() => {
      this.isWanted = this.process !== undefined;
    });
    return changed;
  }

  private async change(): Promise<void> {
    if (this.isWanted) {
      this.process ??= await this.start();
    } else {
      await this.process?.stop();
      this.process = undefined;
    }
  }
}
