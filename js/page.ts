/** What the page or the worker is, and what it tells of its coming and going. */

/**
 * Whether this may be somebody's device: a page or a worker. Elsewhere, as where a server renders, there is nobody to
 * remember anything for.
 */
export function isOnDevice(): boolean {
  return typeof document !== "undefined" || "WorkerGlobalScope" in globalThis || typeof indexedDB !== "undefined";
}

/** Listens to events of the page or worker. Returns stop. */
export function listen(types: readonly string[], onEvent: (event: Event) => void): () => void {
  if (typeof addEventListener === "undefined") return () => {};
  // All of a page's events pass the window on their way. workerd refuses the option.
  const options = { capture: typeof document !== "undefined" };
  for (const type of types) addEventListener(type, onEvent, options);
  return () => {
    for (const type of types) removeEventListener(type, onEvent, options);
  };
}

/** A worker, which has no such state, counts as visible. */
export function isHidden(): boolean {
  return typeof document !== "undefined" && document.visibilityState === "hidden";
}
