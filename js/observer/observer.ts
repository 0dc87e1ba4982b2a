/** Finds the elements that show items, and watches them. */
import { isElement, MAX_MS } from "../platform/host.js";
import { watchElement, type DwellListener, type DwellSettings } from "./dwell.js";

/** The settings of an observer, with defaults and validated. */
export interface ObserverSettings extends DwellSettings {
  /** The attribute whose value is the item's id. */
  readonly attribute: string;
}

export type ObservedRoot = Element | Document | ShadowRoot;

/** Mistakes that the development build reports. */
export interface RootMisuses {
  /** The root was in view, and has been out of the document for 10 s. */
  readonly onGone: () => void;
  /** There are elements below it, and for 5 s none of them has had an id. */
  readonly onNoItem: () => void;
}

/** How long the elements below a root may have no id. */
const NO_ITEM_MS = 5_000;

/** Observes an element that shows the item `id`. Returns stop. */
export function observeElement(element: Element, id: string, settings: DwellSettings, listener: DwellListener) {
  return canObserve() ? watchElement(element, id, settings, listener) : () => {};
}

/** Observes the elements with the attribute below `root` and in its open shadow root. Returns stop. */
export function observeBelow(
  root: ObservedRoot,
  settings: ObserverSettings,
  items: DwellListener,
  misuses?: RootMisuses,
): () => void {
  if (!canObserve()) return () => {};
  const stop = followItems(root, settings, items, misuses);
  const host = (root as Partial<ShadowRoot>).host ?? root;
  if (!__DEV__ || !misuses || !isElement(host)) return stop;
  // Only leaving the view matters for it.
  const leaving = { threshold: 0, dwellMs: MAX_MS };
  const stopHost = watchElement(host, "", leaving, { onGone: misuses.onGone });
  return () => [stop, stopHost].forEach((each) => each());
}

/** Servers and some test runners have no IntersectionObserver. */
function canObserve(): boolean {
  return typeof IntersectionObserver !== "undefined";
}

/** Follows elements that are added, removed and reused. */
function followItems(
  root: ObservedRoot,
  settings: ObserverSettings,
  listener: DwellListener,
  misuses?: RootMisuses,
): () => void {
  const { attribute } = settings;
  const { shadowRoot } = root as Partial<Element>;
  const trees = shadowRoot ? [root, shadowRoot] : [root];
  const observed = new Map<Element, { id: string; stop: () => void }>();
  const checkItems = () => {
    if (trees.some((tree) => tree.childElementCount > 0)) misuses?.onNoItem();
  };
  const timer = __DEV__ ? setTimeout(checkItems, NO_ITEM_MS) : undefined;
  const update = () => {
    const elements = new Set(trees.flatMap((tree) => [...tree.querySelectorAll(`[${CSS.escape(attribute)}]`)]));
    for (const [element, { id, stop }] of observed) {
      if (elements.has(element) && element.getAttribute(attribute) === id) continue;
      stop();
      observed.delete(element);
      // Its former item is out of view; a removed element may be recreated.
      if (elements.has(element)) listener.onOut?.(id, element);
    }
    for (const element of elements) {
      const id = element.getAttribute(attribute);
      if (!id || observed.has(element)) continue;
      clearTimeout(timer);
      observed.set(element, { id, stop: watchElement(element, id, settings, listener) });
    }
  };
  const mutations = new MutationObserver(update);
  // HTML converts attribute names to lower case.
  const attributeFilter = [attribute, attribute.toLowerCase()];
  for (const tree of trees) mutations.observe(tree, { childList: true, subtree: true, attributeFilter });
  update();
  return () => {
    clearTimeout(timer);
    mutations.disconnect();
    for (const { stop } of observed.values()) stop();
  };
}

/** Items that observers of a namespace have recorded in this document: each view of an item is recorded once. */
export class ObservedItems {
  /** The id that each element showed when it was recorded last. */
  private readonly ids = new WeakMap<Element, string>();
  /** Ids that have not left the view since they were recorded, even if their elements were recreated. */
  private readonly inView = new Set<string>();

  /** Whether to record an element after its dwell time. `isSeen`: its item is stopped, and not unseen since. */
  add(id: string, element: Element, isSeen: boolean): boolean {
    const isSame = this.ids.get(element) === id;
    const isInView = this.inView.has(id);
    if (isSame ? isInView || isSeen : isInView && isSeen) return false;
    this.ids.set(element, id);
    this.inView.add(id);
    return true;
  }

  leave(id: string): void {
    this.inView.delete(id);
  }
}
