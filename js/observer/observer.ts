/**
 * Finds the elements that show items, and reports each item that was looked at for long enough: one impression for an
 * element and id.
 */
import { watch } from "./dwell.js";

/** What an observer needs, all resolved and validated. */
export interface ObserverSettings {
  /** Its value is the item's id. */
  attribute: string;
  /** Share of the element, or of its scrollport, that must be visible. */
  threshold: number;
  /** For how long, without a break, while the page is visible. */
  dwellMs: number;
}

type OnImpression = (id: string, element: Element) => void;

/** How long a custom element may take to show anything before its shadow root counts as closed. */
const PATIENCE_MS = 1_000;

/**
 * Observes every element that carries settings.attribute below root and in its open shadow root, which a custom element
 * may get when it is defined. Calls `onClosed` if nothing is to be found in it although it shows something. Returns
 * stop.
 */
export function observeBelow(
  root: Element | Document | ShadowRoot,
  settings: ObserverSettings,
  onImpression: OnImpression,
  onClosed: (host: Element) => void = () => undefined,
): () => void {
  if (!canObserve()) return () => undefined;
  const stops = [observeTree(root, settings, onImpression)];
  const { shadowRoot, localName } = root as Partial<Element>;
  if (shadowRoot) stops.push(observeTree(shadowRoot, settings, onImpression));
  else if (localName?.includes("-")) stops.push(awaitShadow(root as Element, settings, onImpression, onClosed));
  return () => {
    for (const stop of stops) stop();
  };
}

/** Observes the shadow root of a custom element as soon as it has one. Returns stop. */
function awaitShadow(
  host: Element,
  settings: ObserverSettings,
  onImpression: OnImpression,
  onClosed: (host: Element) => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop = () => clearTimeout(timer);
  let isStopped = false;
  const enter = () => {
    if (isStopped) return;
    if (host.shadowRoot) stop = observeTree(host.shadowRoot, settings, onImpression);
    else timer = setTimeout(() => isHollow(host) && onClosed(host), PATIENCE_MS);
  };
  customElements.whenDefined(host.localName).then(enter, () => undefined);
  return () => {
    isStopped = true;
    stop();
  };
}

/** Whether an element has a box, and nothing that is known in it. */
function isHollow(host: Element): boolean {
  const { width, height } = host.getBoundingClientRect();
  return width * height > 0 && !host.firstElementChild && !host.shadowRoot;
}

/** Observes every element below root, but not in shadow roots there. Returns stop. */
function observeTree(
  root: Element | Document | ShadowRoot,
  settings: ObserverSettings,
  onImpression: OnImpression,
): () => void {
  const { attribute } = settings;
  const selector = `[${CSS.escape(attribute)}]`;
  const observed = new Map<Element, { id: string; stop: () => void }>();
  /** What each element counted last, though it lost the attribute or left the document since. */
  const counted = new WeakMap<Element, string>();

  const refresh = (element: Element) => {
    const id = element !== root && root.contains(element) ? element.getAttribute(attribute) : null;
    const before = observed.get(element);
    if (before?.id === id) return;
    before?.stop();
    observed.delete(element);
    if (id === null || counted.get(element) === id) return;
    const stop = observeElement(element, id, settings, () => {
      counted.set(element, id);
      onImpression(id, element);
    });
    observed.set(element, { id, stop });
  };
  const refreshBelow = (parent: ParentNode) => parent.querySelectorAll(selector).forEach(refresh);

  const mutations = new MutationObserver((records) => {
    for (const { type, target, addedNodes, removedNodes } of records) {
      if (type === "attributes") refresh(target as Element);
      for (const node of [...addedNodes, ...removedNodes]) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        refresh(node as Element);
        refreshBelow(node as Element);
      }
    }
  });
  // HTML keeps attribute names in lower case, whatever was written.
  const attributeFilter = [attribute, attribute.toLowerCase()];
  mutations.observe(root, { childList: true, subtree: true, attributeFilter });
  refreshBelow(root);
  return () => {
    mutations.disconnect();
    for (const { stop } of observed.values()) stop();
    observed.clear();
  };
}

/** Observes one element that shows `id`. Returns stop. */
export function observeElement(
  element: Element,
  id: string,
  settings: ObserverSettings,
  onImpression: OnImpression,
): () => void {
  if (!canObserve()) return () => undefined;
  return watch(element, settings.threshold, settings.dwellMs, () => onImpression(id, element));
}

/** Neither servers nor the documents of some test runners have these. */
function canObserve(): boolean {
  return typeof IntersectionObserver !== "undefined" && typeof ResizeObserver !== "undefined";
}
