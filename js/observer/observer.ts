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
  ratio: number;
  /** For how long, without a break, while the page is visible. */
  dwellMs: number;
}

type OnImpression = (id: string, element: Element) => void;

/** Observes every element below root that carries settings.attribute. Returns stop. */
export function observeBelow(root: Element, settings: ObserverSettings, onImpression: OnImpression): () => void {
  if (!canObserve()) return () => undefined;
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
  const refreshAll = (subtree: Element) => {
    for (const element of [subtree, ...subtree.querySelectorAll(selector)]) refresh(element);
  };

  const mutations = new MutationObserver((records) => {
    for (const { type, target, addedNodes, removedNodes } of records) {
      if (type === "attributes") refresh(target as Element);
      for (const node of [...addedNodes, ...removedNodes]) {
        if (node.nodeType === Node.ELEMENT_NODE) refreshAll(node as Element);
      }
    }
  });
  // HTML keeps attribute names in lower case, whatever was written.
  const attributeFilter = [attribute, attribute.toLowerCase()];
  mutations.observe(root, { childList: true, subtree: true, attributeFilter });
  refreshAll(root);
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
  return watch(element, settings.ratio, settings.dwellMs, () => onImpression(id, element));
}

/** Neither servers nor the documents of some test runners have these. */
function canObserve(): boolean {
  return typeof IntersectionObserver !== "undefined" && typeof ResizeObserver !== "undefined";
}
