/**
 * Where the person looks, for the oracle: written apart from the guard's own observer, so that each checks the other.
 *
 * An item is seen once half of it, or as much of it as covers half of the window, has been in view for a dwell without
 * a break while the page was visible, and still is when the browser draws the page next.
 */

/** The oracle's dwell is longer by this: what it calls seen has then surely reached the guard, and no repeat is put down to
 *  two timers that ran out in the other order. */
const MARGIN_MS = 50;
const STEPS = Array.from({ length: 21 }, (_, step) => step / 20);

export class Gaze {
  private readonly observer: IntersectionObserver;
  private readonly timers = new Map<Element, ReturnType<typeof setTimeout>>();
  private readonly inView = new Set<Element>();
  /** In view for a dwell: seen, if they still are in the next frame. */
  private readonly due = new Set<Element>();

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
      for (const element of this.inView) this.restart(element);
    });
  }

  watch(element: Element): void {
    this.observer.observe(element);
  }

  /** Elements that are taken out of the page are forgotten. */
  forget(elements: Iterable<Element>): void {
    for (const element of elements) {
      this.observer.unobserve(element);
      this.leave(element);
    }
  }

  private moved(entry: IntersectionObserverEntry): void {
    const windowHeight = entry.rootBounds?.height ?? innerHeight;
    const enough = entry.intersectionRatio >= 0.5 || entry.intersectionRect.height >= windowHeight / 2;
    if (!entry.isIntersecting || !enough) this.leave(entry.target);
    else if (this.due.has(entry.target)) {
      this.forget([entry.target]);
      this.onSeen(entry.target);
    } else if (!this.inView.has(entry.target)) {
      this.inView.add(entry.target);
      this.restart(entry.target);
    }
  }

  private leave(element: Element): void {
    this.inView.delete(element);
    this.stopTimer(element);
  }

  private restart(element: Element): void {
    this.stopTimer(element);
    if (document.visibilityState !== "visible") return;
    const timer = setTimeout(() => {
      this.due.add(element);
      this.observer.unobserve(element);
      this.observer.observe(element); // asks where it is in the next frame
    }, this.dwellMs + MARGIN_MS);
    this.timers.set(element, timer);
  }

  private stopTimer(element: Element): void {
    this.due.delete(element);
    clearTimeout(this.timers.get(element));
    this.timers.delete(element);
  }
}
