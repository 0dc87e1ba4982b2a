/**
 * Tells when something on the page has been looked at for long enough.
 *
 * One IntersectionObserver serves all subjects of one ratio. It reports when a share of an element is crossed, which is
 * all that an ordinary element needs. What thresholds cannot express is sampled while it is in view: an element larger
 * than its scrollport, where the share depends on both sizes, and one without a box of its own, where several boxes make
 * it up. To observe a box anew is to ask for a fresh entry at the next frame, with all clipping taken into account.
 */
import { hasBox, isInView, look } from "./share.js";

/** How often what the browser does not report is looked at. */
const SAMPLE_MS = 100;
/** This much of the ratio is enough: browsers round fractional pixels. */
const ENOUGH = 0.99;
/** Stands for "any visible pixel": the threshold 0 is crossed by touching the edge from outside. */
const ANY = 1e-6;

/** The page comes and goes, also into the back/forward cache; or its scrollports change while nothing crosses a threshold. */
const PAGE_EVENTS = ["visibilitychange", "pagehide", "pageshow", "resize"] as const;

interface Subject {
  readonly element: Element;
  readonly dwellMs: number;
  readonly onDwell: () => void;
  /** What shows the subject, with the latest entry of each: the element and, without a box of its own, what is in it. */
  readonly boxes: Map<Element, IntersectionObserverEntry | undefined>;
  /** Since when it has been visible without a break. */
  since?: number | undefined;
  /** The dwell is over: the entry asked for after its end decides. */
  due?: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

/** Those in use, by ratio. */
const viewers = new Map<number, Viewer>();

/** Calls `onDwell` once, when `ratio` of `element` has been visible for `dwellMs` without a break. Returns stop. */
export function watch(element: Element, ratio: number, dwellMs: number, onDwell: () => void): () => void {
  const viewer = viewers.get(ratio) ?? new Viewer(ratio);
  const subject: Subject = { element, dwellMs, onDwell, boxes: new Map() };
  viewer.add(subject);
  return () => {
    viewer.remove(subject);
  };
}

class Viewer {
  private readonly threshold: number;
  private readonly subjects = new Set<Subject>();
  private readonly subjectsOf = new Map<Element, Set<Subject>>();
  private readonly intersections: IntersectionObserver;
  /** A box in view that grows need not cross a threshold: one that had no height was all visible from the start. */
  private readonly sizes = new ResizeObserver((entries) => {
    for (const entry of entries) this.sampleAllOf(entry.target);
  });
  /** Follows what comes and goes in subjects without a box of their own. */
  private readonly contents = new MutationObserver((records) => {
    for (const record of records) {
      for (let node: Node | null = record.target; node; node = node.parentNode) this.sampleAllOf(node);
    }
  });
  private pageShown = isPageVisible();

  constructor(private readonly ratio: number) {
    this.threshold = Math.max(ratio * ENOUGH, ANY);
    this.intersections = new IntersectionObserver((entries) => this.take(entries), { threshold: [0, this.threshold] });
    for (const type of PAGE_EVENTS) addEventListener(type, this);
    viewers.set(ratio, this);
  }

  add(subject: Subject): void {
    this.subjects.add(subject);
    this.claim(subject, subject.element);
  }

  remove(subject: Subject): void {
    if (!this.subjects.delete(subject)) return;
    clearTimeout(subject.timer);
    for (const box of subject.boxes.keys()) this.release(subject, box);
    if (!this.subjects.size) this.close();
  }

  private close(): void {
    viewers.delete(this.ratio);
    for (const observer of [this.intersections, this.sizes, this.contents]) observer.disconnect();
    for (const type of PAGE_EVENTS) removeEventListener(type, this);
  }

  private claim(subject: Subject, box: Element): void {
    if (!subject.boxes.has(box)) {
      subject.boxes.set(box, undefined);
      const subjects = this.subjectsOf.get(box);
      if (subjects) subjects.add(subject);
      else this.subjectsOf.set(box, new Set([subject]));
    }
    this.intersections.unobserve(box);
    this.intersections.observe(box);
  }

  private release(subject: Subject, box: Element): void {
    subject.boxes.delete(box);
    const subjects = this.subjectsOf.get(box);
    subjects?.delete(subject);
    if (subjects?.size) return;
    this.subjectsOf.delete(box);
    this.intersections.unobserve(box);
    this.sizes.unobserve(box);
  }

  /** Asks for fresh entries of all that shows the subject now. */
  private sample(subject: Subject): void {
    const boxes = new Set(boxesOf(subject.element));
    for (const box of subject.boxes.keys()) if (!boxes.has(box)) this.release(subject, box);
    for (const box of boxes) this.claim(subject, box);
  }

  private sampleAllOf(box: Node): void {
    this.subjectsOf.get(box as Element)?.forEach((subject) => this.sample(subject));
  }

  private take(entries: IntersectionObserverEntry[]): void {
    const touched = new Set<Subject>();
    const judgeTouched = () => {
      for (const subject of touched) this.judge(subject);
      touched.clear();
    };
    let frame = 0;
    for (const entry of entries) {
      // Several boxes are judged by whole frames, and a frame in which it was gone counts though a later one is here, too.
      if (entry.time !== frame) judgeTouched();
      frame = entry.time;
      const box = entry.target;
      for (const subject of this.subjectsOf.get(box) ?? []) {
        if (entry.isIntersecting && !subject.boxes.get(box)?.isIntersecting) this.sizes.observe(box);
        if (!entry.isIntersecting) this.sizes.unobserve(box);
        subject.boxes.set(box, entry);
        touched.add(subject);
      }
    }
    judgeTouched();
  }

  private judge(subject: Subject): void {
    clearTimeout(subject.timer);
    if (this.hasBecomeGroup(subject)) {
      this.sample(subject);
      return;
    }
    const { visible, reported } = look(subject.element, subject.boxes, this.threshold);
    const now = performance.now();
    if (!visible || !this.pageShown) subject.since = undefined;
    else if (subject.due) {
      this.remove(subject);
      // Not in the midst of this loop; and what it throws is reported as any uncaught error.
      queueMicrotask(subject.onDwell);
      return;
    } else subject.since ??= now;
    subject.due = false;
    if (!this.pageShown) return;
    const untilDue = subject.since === undefined ? Infinity : subject.since + subject.dwellMs - now;
    const wait = Math.min(untilDue, reported ? Infinity : SAMPLE_MS);
    if (wait < Infinity) subject.timer = setTimeout(() => this.wake(subject), wait);
  }

  /** Whether the element turns out to have no box of its own, but elements in it that may. */
  private hasBecomeGroup({ element, boxes }: Subject): boolean {
    if (boxes.size > 1 || hasBox(boxes.get(element)) || !isContents(element)) return false;
    this.contents.observe(element, { childList: true, subtree: true });
    return !!element.firstElementChild;
  }

  /** After a busy while much may have changed that no entry tells yet, so nothing counts without a fresh one. */
  private wake(subject: Subject): void {
    this.take(this.intersections.takeRecords());
    subject.due = subject.since !== undefined && performance.now() - subject.since >= subject.dwellMs;
    this.sample(subject);
  }

  handleEvent(event: Event): void {
    this.pageShown = event.type !== "pagehide" && isPageVisible();
    for (const subject of this.subjects) {
      if (!isInView(subject.boxes)) continue;
      if (this.pageShown) this.sample(subject);
      else this.judge(subject);
    }
  }
}

function isPageVisible(): boolean {
  return document.visibilityState === "visible";
}

function isContents(element: Element): boolean {
  return getComputedStyle(element).display === "contents";
}

/** The element and, where it generates no box, the elements in it down to those that do. */
function boxesOf(element: Element): Element[] {
  return isContents(element) ? [element, ...[...element.children].flatMap((child) => boxesOf(child))] : [element];
}
