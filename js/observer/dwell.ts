/**
 * Tells when something on the page has been looked at for long enough.
 *
 * One IntersectionObserver serves all subjects of one threshold. It reports when a share of an element is crossed, which is
 * all that an ordinary element needs. What thresholds cannot express is sampled while it is in view: an element larger
 * than its scrollport, where the share depends on both sizes, and one without a box of its own, where several boxes
 * make it up. To observe a box anew is to ask for a fresh entry at the next frame, with all clipping taken into
 * account.
 *
 * Importing this does nothing; with the last subject, all observers and listeners are gone.
 */
import { isHidden, listen } from "../host.js";
import { hasBox, isInView, look } from "./share.js";

/** How often what the browser does not report is looked at. */
const SAMPLE_MS = 100;
/** This much of the threshold is enough: browsers round fractional pixels. */
const ENOUGH = 0.99;
/** Stands for "any visible pixel": the threshold 0 is crossed by touching the edge from outside. */
const ANY = 1e-6;

/**
 * The page comes and goes, also into the back/forward cache, and its size changes while nothing crosses a threshold.
 */
const PAGE_EVENTS = ["visibilitychange", "pagehide", "pageshow", "resize"] as const;

interface Subject {
  readonly element: Element;
  readonly threshold: number;
  readonly dwellMs: number;
  /** Nothing any more once it is stopped, though the dwell may be over. */
  onDwell: () => void;
  readonly intersections: IntersectionObserver;
  /**
   * What shows the subject, with the latest entry of each: the element and, without a box of its own, what is in it.
   */
  readonly boxes: Map<Element, IntersectionObserverEntry | undefined>;
  /** Since when it has been visible without a break. */
  since?: number | undefined;
  /** The dwell is over: the entry asked for after its end decides. */
  due?: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

const subjects = new Set<Subject>();
const subjectsOf = new Map<Element, Set<Subject>>();
/** By threshold. */
const intersectionObservers = new Map<number, IntersectionObserver>();
/** A box in view that grows need not cross a threshold: one that had no height was all visible from the start. */
let sizes: ResizeObserver;
/** Follows what comes and goes in subjects without a box of their own. */
let contents: MutationObserver;
let pageShown: boolean;
let stopListening: () => void;

/** Calls `onDwell` once, when that `share` of `element` has been visible for `dwellMs` without a break. Returns stop. */
export function watch(element: Element, share: number, dwellMs: number, onDwell: () => void): () => void {
  const threshold = Math.max(share * ENOUGH, ANY);
  if (!subjects.size) start();
  let intersections = intersectionObservers.get(threshold);
  if (!intersections) {
    intersections = new IntersectionObserver(take, { threshold: [0, threshold] });
    intersectionObservers.set(threshold, intersections);
  }
  const subject: Subject = { element, threshold, dwellMs, onDwell, intersections, boxes: new Map() };
  subjects.add(subject);
  claim(subject, element);
  return () => {
    subject.onDwell = () => {};
    drop(subject);
  };
}

function start(): void {
  const sampleAll = (changes: readonly { readonly target: Node }[]) => {
    for (const { target } of changes) subjectsOf.get(target as Element)?.forEach(sample);
  };
  sizes = new ResizeObserver(sampleAll);
  contents = new MutationObserver(sampleAll);
  pageShown = !isHidden();
  stopListening = listen(PAGE_EVENTS, onPageEvent);
}

function drop(subject: Subject): void {
  clearTimeout(subject.timer);
  for (const box of subject.boxes.keys()) release(subject, box);
  if (!subjects.delete(subject) || subjects.size) return;
  for (const observer of [sizes, contents, ...intersectionObservers.values()]) observer.disconnect();
  intersectionObservers.clear();
  stopListening();
}

/** Asks for a fresh entry of a box that shows the subject. */
function claim(subject: Subject, box: Element): void {
  if (!subject.boxes.has(box)) subject.boxes.set(box, undefined);
  const sharing = subjectsOf.get(box) ?? new Set();
  subjectsOf.set(box, sharing.add(subject));
  subject.intersections.unobserve(box);
  subject.intersections.observe(box);
}

function release(subject: Subject, box: Element): void {
  subject.boxes.delete(box);
  subject.intersections.unobserve(box);
  const sharing = subjectsOf.get(box);
  sharing?.delete(subject);
  if (sharing?.size) for (const other of sharing) other.intersections.observe(box);
  else {
    subjectsOf.delete(box);
    sizes.unobserve(box);
  }
}

/** Asks for fresh entries of all that shows the subject now. */
function sample(subject: Subject): void {
  const boxes = new Set(boxesOf(subject.element));
  for (const box of subject.boxes.keys()) if (!boxes.has(box)) release(subject, box);
  for (const box of boxes) claim(subject, box);
}

function take(entries: IntersectionObserverEntry[]): void {
  const touched = new Set<Subject>();
  let frame = 0;
  for (const entry of entries) {
    // Entries of several frames may come together. In one of them a subject may have been out of view.
    if (entry.time !== frame) judgeAll(touched);
    frame = entry.time;
    const { target, isIntersecting } = entry;
    for (const subject of subjectsOf.get(target) ?? []) {
      if (!isIntersecting) sizes.unobserve(target);
      else if (!subject.boxes.get(target)?.isIntersecting) sizes.observe(target);
      subject.boxes.set(target, entry);
      touched.add(subject);
    }
  }
  judgeAll(touched);
}

function judgeAll(touched: Set<Subject>): void {
  touched.forEach(judge);
  touched.clear();
}

function judge(subject: Subject): void {
  clearTimeout(subject.timer);
  if (isStale(subject)) {
    sample(subject);
    return;
  }
  const [visible, reported] = look(subject.element, subject.boxes, subject.threshold);
  if (visible && subject.due) {
    drop(subject);
    // Not in the midst of this; and what it throws is reported as any uncaught error.
    queueMicrotask(() => subject.onDwell());
    return;
  }
  const now = performance.now();
  if (visible && pageShown) subject.since ??= now;
  else interrupt(subject);
  const untilDue = (subject.since ?? Infinity) + subject.dwellMs - now;
  const wait = Math.min(untilDue, reported || !pageShown ? Infinity : SAMPLE_MS);
  // Timers count whole milliseconds: one that is a fraction early finds the dwell not over, and costs another.
  if (wait < Infinity) subject.timer = setTimeout(wake, Math.ceil(wait), subject);
}

function interrupt(subject: Subject): void {
  clearTimeout(subject.timer);
  subject.since = undefined;
  subject.due = false;
}

/** Whether the entries do not tell how much of the subject is visible: not all of one moment, or not all its boxes. */
function isStale({ element, boxes }: Subject): boolean {
  if (boxes.size > 1) {
    const frames = [...boxes.values()].map((entry) => entry?.time);
    return frames.some((time) => time !== frames[0]);
  }
  if (hasBox(boxes.get(element)) || !isContents(element)) return false;
  contents.observe(element, { childList: true, subtree: true });
  return !!element.firstElementChild;
}

/**
 * After a busy while much may have changed that no entry tells yet: nothing counts without one asked for after its end.
 */
function wake(subject: Subject): void {
  for (const observer of intersectionObservers.values()) take(observer.takeRecords());
  subject.due = performance.now() - (subject.since ?? NaN) >= subject.dwellMs;
  sample(subject);
}

function onPageEvent({ type }: Event): void {
  pageShown = type !== "pagehide" && !isHidden();
  for (const subject of subjects) if (isInView(subject.boxes)) (pageShown ? sample : interrupt)(subject);
}

function isContents(element: Element): boolean {
  return getComputedStyle(element).display === "contents";
}

/** The element and, where it generates no box, the elements in it down to those that do. */
function boxesOf(element: Element): Element[] {
  return isContents(element) ? [element, ...[...element.children].flatMap((child) => boxesOf(child))] : [element];
}
