/** What React Native adds to Hermes. Its command has timers that do not wait: here a test says what time passes. */

const waiting: { readonly run: () => void; readonly at: number; isOver: boolean }[] = [];
let elapsedMs = 0;

/** Lets N milliseconds pass: runs what is due then, once. */
export function elapse(ms: number): void {
  elapsedMs += ms;
  for (const timer of waiting.filter(({ at, isOver }) => !isOver && at <= elapsedMs)) {
    timer.isOver = true;
    timer.run();
  }
}

/** React Native's, as far as nothing here listens to it. */
class Controller {
  readonly signal = { aborted: false };

  abort(): void {
    this.signal.aborted = true;
  }
}

Object.assign(globalThis, {
  AbortController: Controller,
  queueMicrotask: (run: () => void) => void Promise.resolve().then(run),
  setTimeout: (run: () => void, ms = 0) => waiting.push({ run, at: elapsedMs + ms, isOver: false }) - 1,
  clearTimeout: (timer: number) => {
    const cleared = waiting[timer];
    if (cleared) cleared.isOver = true;
  },
});
