/** The room that an element can be seen in: what its scroll containers and the viewport leave of each other. */

export interface Size {
  width: number;
  height: number;
}

/**
 * The size, in viewport pixels, of the largest part of `element` that could ever be seen at once.
 *
 * `viewport` is the root's rectangle of an intersection entry; in a frame of another origin there is none.
 */
export function scrollport(element: Element, viewport: Size | null): Size {
  const page = element.ownerDocument;
  const { innerWidth, innerHeight } = page.defaultView ?? window;
  let width = Math.min(innerWidth, viewport?.width ?? innerWidth);
  let height = Math.min(innerHeight, viewport?.height ?? innerHeight);
  let { position } = getComputedStyle(element);
  // The body's overflow is the viewport's, and a box that cannot be measured (inline, `display: contents`) clips nothing.
  for (let box = parentOf(element); box && box !== page.body; box = parentOf(box)) {
    const style = getComputedStyle(box);
    if (style.display === "contents" || escapes(position, style)) continue;
    position = style.position;
    const { clientWidth, clientHeight, offsetWidth, offsetHeight } = box as HTMLElement;
    if (!clientWidth || !clientHeight || !offsetWidth) continue;
    // Client sizes know nothing of transforms.
    const outer = box.getBoundingClientRect();
    if (style.overflowX !== "visible") width = Math.min(width, (clientWidth * outer.width) / offsetWidth);
    if (style.overflowY !== "visible") height = Math.min(height, (clientHeight * outer.height) / offsetHeight);
  }
  return { width, height };
}

/** The element that this one is laid out in: across slots and shadow roots. */
function parentOf(element: Element): Element | null | undefined {
  return element.assignedSlot ?? element.parentElement ?? (element.parentNode as ShadowRoot | null)?.host;
}

/** A box taken out of the flow is not clipped by what lies between it and its containing block. */
function escapes(position: string, ancestor: CSSStyleDeclaration): boolean {
  return (
    ancestor.transform === "none" &&
    (position === "fixed" || (position === "absolute" && ancestor.position === "static"))
  );
}
