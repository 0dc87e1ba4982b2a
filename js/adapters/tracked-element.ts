/** Tracks an element that shows an item: shared by React's ref, Vue's directive and Svelte's action. */
import type { SeenElement } from "../types/seenguard.js";
import { idsKey, withLatest } from "./latest.js";

export interface TrackedElement {
  update(shown: SeenElement): void;
  /** Stops, unless the element is tracked again before the next task. */
  release(): void;
}

/** Released elements, with a function that continues to track them. */
const released = new WeakMap<Element, (shown: SeenElement) => TrackedElement>();

/**
 * Tracks an element while it shows the same item, and restarts when it shows another one. An element that is released
 * and tracked again at once continues: component libraries and inline refs do that with each rendering.
 */
export function trackElement(element: Element, shown: SeenElement): TrackedElement {
  const goOn = released.get(element);
  if (goOn) return goOn(shown);
  let latest = shown;
  const start = () => {
    const { guard, ...options } = latest;
    return guard?.observe(
      element,
      withLatest(options, (name) => latest[name]),
    );
  };
  let stop = start();
  const tracked: TrackedElement = {
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
}

/** A key whose change restarts tracking. */
function identityOf({ id, threshold, dwellMs, local }: SeenElement): string {
  return `${idsKey(id)} ${threshold} ${dwellMs} ${local}`;
}
