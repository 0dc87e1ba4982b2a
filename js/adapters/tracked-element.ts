/** An element that shows an item: what React's ref, Vue's directive and Svelte's action do. */
import type { SeenElement } from "../types/seenguard.js";
import { idsKey, withLatest } from "./latest.js";

export interface TrackedElement {
  update(shown: SeenElement): void;
  /** Stops at once. */
  destroy(): void;
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
  return released.get(element)?.(shown) ?? startTracking(element, shown);
}

function startTracking(element: Element, shown: SeenElement): TrackedElement {
  let latest = shown;
  const optionsOf = ({ guard: _guard, id: _id, ...options }: SeenElement) => options;
  const start = () =>
    latest.guard?.track(
      element,
      latest.id,
      withLatest(() => optionsOf(latest)),
    );
  let stop = start();
  const tracked: TrackedElement = {
    update(next) {
      const before = latest;
      latest = next;
      if (isSame(before, next)) return;
      stop?.();
      stop = start();
    },
    destroy: () => stop?.(),
    release() {
      const timer = setTimeout(() => {
        if (released.get(element) === goOn) released.delete(element);
        tracked.destroy();
      });
      const goOn = (next: SeenElement) => {
        clearTimeout(timer);
        released.delete(element);
        tracked.update(next);
        return tracked;
      };
      released.set(element, goOn);
    },
  };
  return tracked;
}

function isSame(a: SeenElement, b: SeenElement): boolean {
  const isSameItem = a.guard === b.guard && idsKey(a.id) === idsKey(b.id);
  return isSameItem && a.threshold === b.threshold && a.dwellMs === b.dwellMs && a.local === b.local;
}
