/** Whether a storage works: what is wrong is reported once until it works again, and tried again meanwhile. */
import { describe, SeenGuardError, type ErrorListener } from "../errors.js";
import { retryDelayMs } from "../timeouts.js";

const LAST_RETRY_MS = 60_000;

export class StorageHealth {
  /** What is wrong. */
  trouble: "unavailable" | "full" | undefined;
  private readonly report: ErrorListener;
  private readonly tryAgain: () => void;
  private isStopped = false;
  /** In a row. */
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(report: ErrorListener, tryAgain: () => void) {
    this.report = report;
    this.tryAgain = tryAgain;
  }

  readonly onFailure = (cause: unknown): void => {
    const message = `the storage failed: ${describe(cause)}`;
    if (isQuotaError(cause)) {
      const fullMessage = "the storage is full: what does not fit is kept in memory and tried again";
      this.note("full", new SeenGuardError("storage-full", fullMessage, cause));
    } else {
      this.note("unavailable", new SeenGuardError("storage", message, cause));
    }
    // What is recorded meanwhile is tried at once, and puts off nothing.
    if (this.isStopped) return;
    this.retry ??= setTimeout(
      () => {
        this.retry = undefined;
        this.tryAgain();
      },
      retryDelayMs(this.failures++, LAST_RETRY_MS),
    );
  };

  onSuccess(): void {
    this.trouble = undefined;
    this.failures = 0;
    this.cancelRetry();
  }

  /** Somebody has waited in vain. */
  onTimeout(): void {
    this.note("unavailable", new SeenGuardError("storage", "the storage does not answer: it is not waited for"));
  }

  /** Nothing is tried again from now on. */
  stop(): void {
    this.isStopped = true;
    this.cancelRetry();
  }

  private cancelRetry(): void {
    if (this.retry !== undefined) clearTimeout(this.retry);
    this.retry = undefined;
  }

  private note(trouble: "unavailable" | "full", error: SeenGuardError): void {
    if (this.trouble === trouble) return;
    this.trouble = trouble;
    this.report(error);
  }
}

/** Engines have several names for it. */
export function isQuotaError(cause: unknown): boolean {
  try {
    return /quota/i.test((cause as Error).name);
  } catch {
    // Anything may be thrown: a symbol, nothing at all, an object whose getters throw.
    return false;
  }
}
