/**
 * `seenguard/devtools`: importing it defines the custom element `<seenguard-panel>`, if the platform has custom
 * elements.
 */
import type { SeenGuard } from "./seenguard.js";

// The platform's types, or minimal ones where it has none.
type DomHTMLElement = typeof globalThis extends { HTMLElement: { prototype: infer T } } ? T : object;
type DomEvent = typeof globalThis extends { Event: { prototype: infer T } } ? T : object;
declare const BaseElement: new () => DomHTMLElement;

/**
 * Shows the state of one guard: pending impressions, the stream lag, stopped items and why. Attributes: `open`;
 * `label`, a name that distinguishes several panels of a page; `docked`, which fixes the panel in the window's corner.
 */
export declare class SeenGuardPanel extends BaseElement {
  /** The guard to show. The panel does not close it. @default null */
  get guard(): SeenGuard | null;
  set guard(guard: SeenGuard | null | undefined);
  /** Whether the panel is expanded: reflects the attribute `open`. @default false */
  open: boolean;
}

/** The event `seenguard-unsee`, which bubbles: the panel's user has made an item unseen. */
export type UnseeEvent = DomEvent & {
  readonly detail: {
    /** All ids of the item that the panel knew, the main id first. */
    readonly ids: readonly string[];
  };
};

declare global {
  interface HTMLElementTagNameMap {
    "seenguard-panel": SeenGuardPanel;
  }
  interface HTMLElementEventMap {
    "seenguard-unsee": UnseeEvent;
  }
}
