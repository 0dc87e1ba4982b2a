/**
 * Detects that an element was viewed: `threshold` of it, or of the viewport where that is smaller, was visible for
 * `dwellMs` without a break.
 *
 * IntersectionObservers report when the share that an element needs is crossed; one serves all that need the same.
 * While an element intersects, a timer requests a fresh entry every `dwellMs`: it ends a dwell, and finds a box that
 * grew without crossing anything. With the last watch, all observers and listeners are gone.
 */
import { attempt, isHidden, listen } from "../platform/host.js";

/** When an element counts. */
export interface DwellSettings {
  /** Share of the element, or of the viewport, that must be visible. */
  readonly threshold: number;
  /** For how long, without a break, while the page is visible. */
  readonly dwellMs: number;
}

/** When an element counts by default. */
export const DEFAULTS: DwellSettings = { threshold: 0.5, dwellMs: 1_000 };

type ElementListener = ((id: string, element: Element) => void) | undefined;

export interface DwellListener {
  /** The element was viewed; called again when it has left the view and come back. */
  readonly onDwell?: ElementListener;
  readonly onOut?: ElementListener;
  /** The element has no box of its own. */
  readonly onContents?: ElementListener;
  /** The element was in view, and has been out of the document for 10 s. */
  readonly onGone?: ElementListener;
}

interface Watch extends DwellSettings, DwellListener {
  readonly element: Element;
  readonly id: string;
  /** The share of the element that must intersect, which its observer reports. */
  share: number;
  isIntersecting: boolean;
  /** Whether this share has intersected since the timer was set. */
  isEnough: boolean;
  /** Whether the timer has run: the next entry decides. */
  isDue: boolean;
  /** Whether it was viewed since it came into view. */
  isSeen: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

/** This fraction of the required share suffices: browsers round fractional pixels. */
const ENOUGH = 0.99;
/** Stands for "any visible pixel": an element that touches the edge from outside crosses a threshold of 0. */
const ANY = 1e-6;
/** A box with a shorter side, in pixels, shows nothing. */
const MIN_SIDE = 1;
/** The shortest interval of measurements of an element that shows too little, or that a person cannot see. */
const MIN_INTERVAL_MS = 100;
/** How long an element may be out of the document: frameworks remove it before they stop, cache it, or move it. */
const GONE_MS = 10_000;
/** Events of a page that hides or shows, also by the back/forward cache, or whose size changes the shares. */
const PAGE_EVENTS = ["visibilitychange", "pagehide", "pageshow", "resize"] as const;

const watches = new Map<Element, Set<Watch>>();
/** The observers by the share that they report. */
const observers = new Map<number, IntersectionObserver>();
let stopListening: () => void;

/** Watches an element that shows the item `id`. Returns stop. */
export function watchElement(
  element: Element,
  id: string,
  settings: DwellSettings,
  listener: DwellListener,
): () => void {
  if (watches.size === 0) stopListening = listen(PAGE_EVENTS, onPageEvent);
  const share = shareOf(settings.threshold);
  const state = { share, isIntersecting: false, isEnough: false, isDue: true, isSeen: false };
  const watch: Watch = { ...settings, ...listener, ...state, element, id };
  const siblings = watches.get(element) ?? new Set();
  watches.set(element, siblings.add(watch));
  measure(watch);
  return () => {
    if (!siblings.delete(watch)) return;
    clearTimeout(watch.timer);
    leaveObserver(element, watch.share);
    if (siblings.size === 0) watches.delete(element);
    if (watches.size > 0) return;
    for (const observer of observers.values()) observer.disconnect();
    observers.clear();
    stopListening();
  };
}

/** Rounded, so that elements share observers. */
function shareOf(share: number): number {
  return Math.max(Number((share * ENOUGH).toPrecision(3)), ANY);
}

/** Requests a fresh entry at the next frame. */
function measure({ element, share }: Watch): void {
  const observer =
    observers.get(share) ?? new IntersectionObserver((entries) => handle(entries, share), { threshold: [0, share] });
  observers.set(share, observer);
  observer.unobserve(element);
  observer.observe(element);
}

function leaveObserver(element: Element, share: number): void {
  observers.get(share)?.unobserve(element);
  for (const sibling of watches.get(element) ?? []) if (sibling.share === share) measure(sibling);
}

function handle(entries: readonly IntersectionObserverEntry[], share: number): void {
  for (const entry of entries) {
    for (const watch of watches.get(entry.target) ?? []) if (watch.share === share) decide(watch, entry);
  }
}

function decide(watch: Watch, entry: IntersectionObserverEntry): void {
  const { element, id, dwellMs, isIntersecting: wasIntersecting } = watch;
  const { width, height } = entry.boundingClientRect;
  watch.isIntersecting = entry.isIntersecting;
  if (!entry.isIntersecting) {
    interrupt(watch);
    watch.isSeen = false;
    if (wasIntersecting) watch.onOut?.(id, element);
    if (__DEV__) findMisuse(watch, wasIntersecting, width + height);
    return;
  }
  if (watch.isSeen || isHidden()) return;
  const hasBox = Math.min(width, height) >= MIN_SIDE;
  const share = hasBox ? shareOf(watch.threshold * largestShare(entry)) : watch.share;
  if (share !== watch.share) {
    const before = watch.share;
    watch.share = share;
    leaveObserver(element, before);
    measure(watch);
  }
  const isEnough = hasBox && entry.intersectionRatio >= share;
  const hasDwelt = watch.isDue && watch.isEnough && isEnough;
  if (hasDwelt && canBeSeen(entry)) {
    watch.isSeen = true;
    watch.onDwell?.(id, element);
  } else if (watch.isDue || isEnough !== watch.isEnough) {
    interrupt(watch);
    watch.isDue = false;
    watch.isEnough = isEnough;
    const mayCount = isEnough && !hasDwelt;
    watch.timer = setTimeout(onTimer, mayCount ? dwellMs : Math.max(dwellMs, MIN_INTERVAL_MS), watch);
  }
}

/** Looks for mistakes in an element out of view, `size`: of its box. */
function findMisuse(watch: Watch, wasIntersecting: boolean, size: number): void {
  const { element, id, onGone } = watch;
  if (onGone && wasIntersecting && !element.isConnected) {
    watch.timer = setTimeout(() => element.isConnected || onGone(id, element), GONE_MS);
  } else if (size === 0 && getComputedStyle(element).display === "contents") watch.onContents?.(id, element);
}

/** The largest share of the element that the viewport can show. */
function largestShare({ target, boundingClientRect: box, rootBounds: root }: IntersectionObserverEntry): number {
  // In a frame, entries have the outermost viewport, or none.
  const { innerWidth, innerHeight } = target.ownerDocument.defaultView ?? window;
  const width = Math.min(box.width, innerWidth, root?.width ?? innerWidth);
  const height = Math.min(box.height, innerHeight, root?.height ?? innerHeight);
  return (width * height) / (box.width * box.height);
}

/** Restarts the dwell time with the next entry. */
function interrupt(watch: Watch): void {
  clearTimeout(watch.timer);
  watch.isEnough = false;
  watch.isDue = true;
}

function onTimer(watch: Watch): void {
  const { timer } = watch;
  // On a busy page these are from before the dwell was over, and the element may have left since.
  handle(observers.get(watch.share)?.takeRecords() ?? [], watch.share);
  if (watch.timer !== timer) return;
  watch.isDue = true;
  measure(watch);
}

function onPageEvent({ type }: Event): void {
  const update = type === "pagehide" || isHidden() ? interrupt : measure;
  for (const siblings of watches.values()) {
    for (const watch of siblings) if (watch.isIntersecting && !watch.isSeen) update(watch);
  }
}

/** Whether a person can see an element in view. An overlay, such as a sticky bar, does not hide it. */
function canBeSeen({ target: element, intersectionRect: { x, y, width, height } }: IntersectionObserverEntry): boolean {
  // Older engines have other names for the options, oldest engines no method.
  const all = { visibilityProperty: true, opacityProperty: true, checkVisibilityCSS: true, checkOpacity: true };
  if (attempt(() => element.checkVisibility(all)) === false) return false;
  const modal = attempt(() => modalAt(element.ownerDocument, x + width / 2, y + height / 2));
  const parts = treePath(element);
  return !parts.some((part) => part.closest("[inert]")) && (!modal || parts.some((part) => modal.contains(part)));
}

/** The modal dialog at a point of the viewport. It, or its backdrop, is in front of everything that it makes inert. */
function modalAt(root: Document | ShadowRoot, x: number, y: number): Element | undefined {
  const hit = root.elementFromPoint(x, y);
  // Chromium returns the host itself for a point of its own box or of text in a slot.
  const inner = hit?.shadowRoot && hit.getRootNode() === root ? modalAt(hit.shadowRoot, x, y) : undefined;
  return inner ?? (hit ? treePath(hit) : []).map((part) => part.closest(":modal")).find((modal) => modal !== null);
}

/** An element, and the hosts of the shadow roots that it is in. */
function treePath(element: Element): Element[] {
  const { host } = element.getRootNode() as Partial<ShadowRoot>;
  return host ? [element, ...treePath(host)] : [element];
}
