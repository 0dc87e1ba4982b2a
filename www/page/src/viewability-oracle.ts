/**
 * The viewability oracle: decides for the experiment which items were seen. It is written apart from the guard's own
 * observer, so that each checks the other.
 *
 * An item is seen once half of it, or as much of it as covers half of the window, has been in view for the dwell time
 * without a break while the page was visible, and still is in a few checks after that.
 */

/**
 * The oracle decides later than the guard, by a few rounds of a short wait and a frame: an item that it counts as seen has
 * been recorded by the guard, however busy the browser is, and no repeat is due to the order of two timers.
 */
const MARGIN_ROUNDS = 3;
const MARGIN_MS = 20;

/** Visible shares of an element at which the browser reports. */
const THRESHOLDS = Array.from({ length: 21 }, (_, step) => step / 20);

export class ViewabilityOracle {
  private readonly observer: IntersectionObserver;
  private readonly inView = new Set<Element>();
  private readonly timers = new Map<Element, ReturnType<typeof setTimeout>>();
  /** Elements under a check, and how many more rounds follow. */
  private readonly checks = new Map<Element, number>();

  constructor(
    private readonly dwellMs: number,
    private readonly onSeen: (element: Element) => void,
  ) {
    this.observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) this.update(entry);
      },
      { threshold: THRESHOLDS },
    );
    document.addEventListener("visibilitychange", () => {
      for (const element of this.inView) this.startDwell(element);
    });
  }

  watch(element: Element): void {
    this.observer.observe(element);
  }

  /** Stops watching elements that leave the page. */
  forget(elements: Iterable<Element>): void {
    for (const element of elements) {
      this.observer.unobserve(element);
      this.inView.delete(element);
      this.stopDwell(element);
    }
  }

  private update({
    target,
    isIntersecting,
    intersectionRatio,
    intersectionRect,
    rootBounds,
  }: IntersectionObserverEntry) {
    const coversHalf = intersectionRect.height >= (rootBounds?.height ?? innerHeight) / 2;
    if (!isIntersecting || (intersectionRatio < 0.5 && !coversHalf)) {
      this.inView.delete(target);
      this.stopDwell(target);
    } else if (!this.inView.has(target)) {
      this.inView.add(target);
      this.startDwell(target);
    } else this.finishCheck(target);
  }

  private startDwell(element: Element): void {
    this.stopDwell(element);
    if (document.visibilityState === "visible") this.checkAfter(element, this.dwellMs, MARGIN_ROUNDS);
  }

  private stopDwell(element: Element): void {
    clearTimeout(this.timers.get(element));
    this.timers.delete(element);
    this.checks.delete(element);
  }

  /** After a delay, requests a new entry of the element for the next frame. */
  private checkAfter(element: Element, delayMs: number, roundsLeft: number): void {
    const timer = setTimeout(() => {
      this.checks.set(element, roundsLeft);
      this.observer.unobserve(element);
      this.observer.observe(element);
    }, delayMs);
    this.timers.set(element, timer);
  }

  /** The element is still in view. */
  private finishCheck(element: Element): void {
    const roundsLeft = this.checks.get(element);
    this.checks.delete(element);
    if (roundsLeft === 0) {
      this.forget([element]);
      this.onSeen(element);
    } else if (roundsLeft !== undefined) this.checkAfter(element, MARGIN_MS, roundsLeft - 1);
  }
}
