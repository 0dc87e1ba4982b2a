/** What the page tells of its coming and going. */

/**
 * Listens to events of the page, if there is one; all of them pass the window on their way. React Native has a window
 * without events. Returns stop.
 */
export function listen(types: readonly string[], onEvent: (event: Event) => void): () => void {
  if (typeof window === "undefined" || typeof addEventListener === "undefined") return () => {};
  for (const type of types) addEventListener(type, onEvent, { capture: true });
  return () => {
    for (const type of types) removeEventListener(type, onEvent, { capture: true });
  };
}

export function isHidden(): boolean {
  return document.visibilityState === "hidden";
}
