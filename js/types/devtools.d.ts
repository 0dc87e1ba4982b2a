/** `seenguard/devtools`: importing it defines the custom element `<seenguard-panel>`, where there are any. */
import type { SeenGuard } from "./seenguard.js";

// The platform's types where there are any, else as little as is needed.
type DomHTMLElement = typeof globalThis extends { HTMLElement: { prototype: infer T } } ? T : object;
type DomEvent = typeof globalThis extends { Event: { prototype: infer T } } ? T : object;
declare const BaseElement: new () => DomHTMLElement;

/**
 * Shows the state of one guard: what is pending, the stream lag, what was stopped and why. Attributes: `open`; `label`,
 * which tells the panels of a page apart; `docked`, which puts it into the window's corner.
 */
export declare class SeenGuardPanel extends BaseElement {
  /** The guard to show. The panel never closes it. @default null */
  get guard(): SeenGuard | null;
  set guard(guard: SeenGuard | null | undefined);
  /** Whether the panel is unfolded: the attribute of that name. @default false */
  open: boolean;
}

/** The event `seenguard-unsee`, which bubbles: the user of the panel has made an item unseen. */
export type UnseeEvent = DomEvent & {
  readonly detail: {
    /** All ids of the item that the panel knew, its own first. */
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
