/** What the page tells of its coming and going. */

/** Hears of events of the page, if there is one, until the signal aborts. All of them pass the window on their way. */
export function listen(signal: AbortSignal, types: readonly string[], onEvent: (event: Event) => void): void {
  if (typeof window === "undefined") return;
  for (const type of types) addEventListener(type, onEvent, { capture: true, signal });
}

export function isHidden(): boolean {
  return document.visibilityState === "hidden";
}
