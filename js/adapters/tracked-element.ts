/** An element that shows an item: what React's ref, Vue's directive and Svelte's action do. */
import type { SeenElement } from "../types/seenguard.js";
import { idsKey, withLatest } from "./latest.js";

export interface TrackedElement {
  update(shown: SeenElement): void;
  /** Stops, unless the element is tracked again before the next task. */
  release(): void;
}

/** Elements that are released, and how to go on with them. */
const released = new WeakMap<Element, (shown: SeenElement) => TrackedElement>();

/**
 * Tracks an element as long as it shows the same item, and anew when it shows another one. What is released and tracked
 * again at once goes on: component libraries, and refs that are written in the markup, do so with each rendering.
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

/** What an element is tracked anew for. */
function identityOf({ id, threshold, dwellMs, local }: SeenElement): string {
  return `${idsKey(id)} ${threshold} ${dwellMs} ${local}`;
}
