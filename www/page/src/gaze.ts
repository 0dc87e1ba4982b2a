/**
 * Where the person looks, for the oracle: written apart from the guard's own observer, so that each checks the other.
 *
 * An item is seen once half of it, or as much of it as covers half of the window, has been in view for a dwell without
 * a break while the page was visible, and still is when that has been asked a few times more.
 */

/**
 * The oracle is later than the guard, by so many times a short wait and a frame. What it calls seen has then surely reached
 * the guard, however busy the browser is, and no repeat is put down to two timers that ran out in the other order.
 */
const MARGIN_ROUNDS = 3;
const MARGIN_MS = 20;

/** Shares of an element at which the browser tells how much of it is in view. */
const STEPS = Array.from({ length: 21 }, (_, step) => step / 20);

export class Gaze {
  private readonly observer: IntersectionObserver;
  private readonly inView = new Set<Element>();
  private readonly timers = new Map<Element, ReturnType<typeof setTimeout>>();
  /** Asked for where it is now, and how often to ask again. */
  private readonly asked = new Map<Element, number>();

  constructor(
    private readonly dwellMs: number,
    private readonly onSeen: (element: Element) => void,
  ) {
    this.observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) this.moved(entry);
      },
      { threshold: STEPS },
    );
    document.addEventListener("visibilitychange", () => {
      for (const element of this.inView) this.startDwell(element);
    });
  }

  watch(element: Element): void {
    this.observer.observe(element);
  }

  /** Elements that are taken out of the page are forgotten. */
  forget(elements: Iterable<Element>): void {
    for (const element of elements) {
      this.observer.unobserve(element);
      this.inView.delete(element);
      this.stopDwell(element);
    }
  }

  private moved({
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
    } else this.answered(target);
  }

  private startDwell(element: Element): void {
    this.stopDwell(element);
    if (document.visibilityState === "visible") this.askAfter(element, this.dwellMs, MARGIN_ROUNDS);
  }

  private stopDwell(element: Element): void {
    clearTimeout(this.timers.get(element));
    this.timers.delete(element);
    this.asked.delete(element);
  }

  /** Asks the browser, in a while, where the element is in the next frame. */
  private askAfter(element: Element, delayMs: number, roundsLeft: number): void {
    const timer = setTimeout(() => {
      this.asked.set(element, roundsLeft);
      this.observer.unobserve(element);
      this.observer.observe(element);
    }, delayMs);
    this.timers.set(element, timer);
  }

  /** It is still in view. */
  private answered(element: Element): void {
    const roundsLeft = this.asked.get(element);
    this.asked.delete(element);
    if (roundsLeft === 0) {
      this.forget([element]);
      this.onSeen(element);
    } else if (roundsLeft !== undefined) this.askAfter(element, MARGIN_MS, roundsLeft - 1);
  }
}
