/** Retries after random pauses of growing length, until a deadline. */
import { pause } from "../../platform/host.js";

const MOST_PAUSE_MS = 100;

/** An error of a backend. */
export class StoreFailure extends Error {
  /** Whether the same call may succeed a moment later. */
  readonly isTransient: boolean;

  constructor(isTransient: boolean, cause: unknown) {
    super("the store failed", { cause });
    this.isTransient = isTransient;
  }

  /** A transient failure with this message. */
  static of(what: string): StoreFailure {
    return new StoreFailure(true, new Error(what));
  }
}

/**
 * The result of `attempt`. It is repeated after transient failures until the time is over; then this rejects with the
 * last failure, if there was any. `isOver` is for an attempt in progress; `onEnd` is called when none is in progress
 * any more.
 */
export function tryFor<T>(ms: number, attempt: (isOver: () => boolean) => Promise<T>, onEnd?: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let failure: StoreFailure | undefined;
    const cancel = afterTurn(ms, () => {
      isOver = true;
      reject(failure ?? StoreFailure.of(`it has not answered within ${ms / 1000} s`));
    });
    const tryAll = async (): Promise<void> => {
      for (let attempts = 0; !isOver; attempts++) {
        if (attempts > 0) await pause(Math.random() * Math.min(2 ** attempts, MOST_PAUSE_MS));
        try {
          resolve(await attempt(() => isOver));
          return;
        } catch (error) {
          if (!(error instanceof StoreFailure && error.isTransient)) throw error;
          failure = error;
        }
      }
    };
    const end = (): void => {
      cancel();
      onEnd?.();
    };
    void tryAll().catch(reject).finally(end);
  });
}

/**
 * Runs a function after this many milliseconds and one turn of the event loop: if the loop was blocked, the response
 * may have arrived already. Returns cancel.
 */
function afterTurn(ms: number, run: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(run);
  }, ms);
  return () => clearTimeout(timer);
}
