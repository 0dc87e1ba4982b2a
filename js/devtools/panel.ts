/** The custom element `<seenguard-panel>`: a guard's state, refreshed every second while it is in a page. */
import type { SeenGuard } from "../types/seenguard.js";
import { Monitor } from "./monitor.js";
import { adoptStyles } from "./elements.js";
import { PanelView } from "./view.js";

const REFRESH_MS = 1000;

/** Servers have no elements, but may import this module. */
const BaseElement = (typeof HTMLElement === "undefined" ? Object : HTMLElement) as typeof HTMLElement;

export class SeenGuardPanel extends BaseElement {
  static readonly observedAttributes = ["label", "open"];

  private readonly view = new PanelView((ids) => this.unsee(ids));
  private monitor: Monitor | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;
  private stopFollowing = (): void => {};
  private isDrawing = false;

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).append(this.view.root);
    this.view.details.addEventListener("toggle", () => {
      this.open = this.view.details.open;
    });
    // A property set before the element was defined hides the accessor.
    for (const name of ["guard", "open"] as const) {
      if (!Object.prototype.hasOwnProperty.call(this, name)) continue;
      const value = this[name];
      Reflect.deleteProperty(this, name);
      Object.assign(this, { [name]: value });
    }
  }

  get guard(): SeenGuard | null {
    return this.monitor?.guard ?? null;
  }

  set guard(guard: SeenGuard | null | undefined) {
    if (guard === this.monitor?.guard) return;
    this.stop();
    this.monitor = guard ? new Monitor(guard) : undefined;
    if (this.isConnected) this.start();
  }

  get open(): boolean {
    return this.hasAttribute("open");
  }

  set open(open: boolean) {
    this.toggleAttribute("open", open);
  }

  connectedCallback(): void {
    if (this.shadowRoot) adoptStyles(this.shadowRoot, this.nonce);
    // There was no callback for an attribute set before the definition.
    this.attributeChangedCallback();
    this.start();
  }

  disconnectedCallback(): void {
    this.stop();
  }

  attributeChangedCallback(): void {
    this.view.name(this.getAttribute("label") ?? "");
    this.view.details.open = this.open;
    this.draw();
  }

  private start(): void {
    this.stop();
    this.stopFollowing = this.monitor?.follow(() => this.drawSoon()) ?? this.stopFollowing;
    this.timer = setInterval(() => this.refresh(), REFRESH_MS);
    this.refresh();
  }

  private stop(): void {
    clearInterval(this.timer);
    this.stopFollowing();
    this.stopFollowing = () => {};
  }

  private refresh(): void {
    this.monitor?.sample();
    this.draw();
  }

  private draw(): void {
    if (this.isConnected && !this.ownerDocument.hidden) this.view.show(this.monitor);
  }

  /** Draws once for all calls before the next frame. */
  private drawSoon(): void {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      this.draw();
    });
  }

  private unsee(ids: readonly string[]): boolean {
    const wasStopped = this.monitor?.unsee(ids) ?? false;
    this.draw();
    const options = { bubbles: true, composed: true, detail: { ids } };
    this.dispatchEvent(new CustomEvent("seenguard-unsee", options));
    return wasStopped;
  }
}
