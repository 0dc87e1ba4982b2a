/** An element that shows an item: what Vue's directive and Svelte's action do. */
import type { SeenElement } from "../types/svelte.js";
import { idsKey, withLatest } from "./latest.js";

export interface TrackedElement {
  update(shown: SeenElement): void;
  destroy(): void;
}

/** Tracks an element as long as it shows the same item, and anew when it shows another one. */
export function trackElement(element: Element, shown: SeenElement): TrackedElement {
  let latest = shown;
  const optionsOf = ({ guard: _guard, id: _id, ...options }: SeenElement) => options;
  const start = () =>
    latest.guard?.track(
      element,
      latest.id,
      withLatest(() => optionsOf(latest)),
    );
  let stop = start();
  return {
    update(next) {
      const before = latest;
      latest = next;
      if (isSame(before, next)) return;
      stop?.();
      stop = start();
    },
    destroy: () => stop?.(),
  };
}

function isSame(a: SeenElement, b: SeenElement): boolean {
  const isSameItem = a.guard === b.guard && idsKey(a.id) === idsKey(b.id);
  return isSameItem && a.ratio === b.ratio && a.dwellMs === b.dwellMs && a.local === b.local;
}
