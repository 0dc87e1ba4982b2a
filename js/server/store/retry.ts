/** Tries something again, after a longer and longer random pause, as long as there is time. */
import { pause } from "../../platform/host.js";

const MOST_PAUSE_MS = 100;

/** What a backend meets. */
export class StoreFailure extends Error {
  /** Whether the same may succeed a moment later. */
  readonly isTransient: boolean;

  constructor(isTransient: boolean, cause: unknown) {
    super("the store failed", { cause });
    this.isTransient = isTransient;
  }

  /** One that passes, in words. */
  static of(what: string): StoreFailure {
    return new StoreFailure(true, new Error(what));
  }
}

/**
 * What an attempt comes to. One that fails in a way that passes is made again until so many milliseconds are over: then
 * this rejects with the last failure, if there was any. `isOver` tells an attempt that still runs; `onEnd` is called
 * when none runs any more.
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
 * Runs something so many milliseconds later, and one turn of the event loop: where that was held up, the answer may be
 * there already. Returns cancel.
 */
function afterTurn(ms: number, run: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(run);
  }, ms);
  return () => clearTimeout(timer);
}
