/** Tracks elements that show items: shared by React's refs, Vue's directives and Svelte's actions. */
import type { ObserveOptions, SeenElement, SeenRoot } from "../types/seenguard.js";
import { idsKey, withLatest } from "./latest.js";

export interface TrackedElement<Shown> {
  update(shown: Shown): void;
  /** Stops, unless the element is tracked again before the next task. */
  release(): void;
}

export type Track<Shown> = (element: Element, shown: Shown) => TrackedElement<Shown>;

/** Tracks an element that shows one item. */
export const trackItem = trackBy<SeenElement>(({ guard, id, ...options }, element) =>
  guard?.observeItem(element, id, options),
);

/** Tracks an element below which items are shown. */
export const trackRoot = trackBy<SeenRoot>(({ guard, ...options }, element) => guard?.observe(element, options));

/**
 * Tracks an element while it shows the same, and restarts when it shows something else. An element that is released and
 * tracked again at once continues: component libraries and inline refs do that with each rendering.
 */
function trackBy<Shown extends SeenRoot>(
  observe: (shown: Shown, element: Element) => (() => void) | undefined,
): Track<Shown> {
  /** Released elements, with a function that continues to track them. */
  const released = new WeakMap<Element, (shown: Shown) => TrackedElement<Shown>>();
  return (element, shown) => {
    const resume = released.get(element);
    if (resume) return resume(shown);
    let latest = shown;
    const start = () =>
      observe(
        withLatest(latest, (name) => latest[name]),
        element,
      );
    let stop = start();
    const tracked: TrackedElement<Shown> = {
      update(next) {
        const isSame = identityOf(latest) === identityOf(next) && latest.guard === next.guard;
        latest = next;
        if (isSame) return;
        stop?.();
        stop = start();
      },
      release() {
        const timer = setTimeout(() => {
          released.delete(element);
          stop?.();
        });
        released.set(element, (next) => {
          clearTimeout(timer);
          released.delete(element);
          tracked.update(next);
          return tracked;
        });
      },
    };
    return tracked;
  };
}

/** A key whose change restarts tracking. */
export function identityOf(shown: ObserveOptions & { readonly id?: SeenElement["id"] }): string {
  const { id, attribute, threshold, dwellMs, local } = shown;
  return `${idsKey(id)} ${attribute} ${threshold} ${dwellMs} ${local}`;
}
