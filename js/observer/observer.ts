/** Finds the elements that show items, and watches them. */
import { MAX_MS } from "../platform/host.js";
import { watchElement, type DwellListener, type DwellSettings } from "./dwell.js";

/** The settings of an observer, with defaults and validated. */
export interface ObserverSettings extends DwellSettings {
  /** Its value is the item's id. */
  readonly attribute: string;
}

export type ObservedRoot = Element | Document | ShadowRoot;

/**
 * Observes `root` itself, which shows the item `id`; without an id, the elements with the attribute below it and in its
 * open shadow root. Returns stop.
 */
export function observeItems(
  root: ObservedRoot,
  id: string | undefined,
  settings: ObserverSettings,
  listener: DwellListener,
): () => void {
  // Servers and some test runners lack it.
  if (typeof IntersectionObserver === "undefined") return () => {};
  if (id !== undefined) return watchElement(root as Element, id, settings, listener);
  const stops = [observeBelow(root, settings, { ...listener, onGone: undefined })];
  const host = (root as Partial<ShadowRoot>).host ?? root;
  // Only leaving the view matters for it.
  const leaving = { threshold: 0, dwellMs: MAX_MS };
  if (host.nodeType === Node.ELEMENT_NODE) {
    stops.push(watchElement(host as Element, "", leaving, { onGone: listener.onGone }));
  }
  return () => {
    for (const stop of stops) stop();
  };
}

/** Follows elements that are added, removed and reused. */
function observeBelow(root: ObservedRoot, settings: ObserverSettings, listener: DwellListener): () => void {
  const { attribute } = settings;
  const { shadowRoot } = root as Partial<Element>;
  const trees = shadowRoot ? [root, shadowRoot] : [root];
  const observed = new Map<Element, { id: string; stop: () => void }>();
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
      observed.set(element, { id, stop: watchElement(element, id, settings, listener) });
    }
  };
  const mutations = new MutationObserver(update);
  // HTML converts attribute names to lower case.
  const attributeFilter = [attribute, attribute.toLowerCase()];
  for (const tree of trees) mutations.observe(tree, { childList: true, subtree: true, attributeFilter });
  update();
  return () => {
    mutations.disconnect();
    for (const { stop } of observed.values()) stop();
  };
}
