/** How much of a subject can be seen: the geometry, without any state. */

/** The latest that is known of the boxes that show a subject. */
export type Boxes = ReadonlyMap<Element, IntersectionObserverEntry | undefined>;

interface Size {
  width: number;
  height: number;
}

/** Below this many pixels, a box is no box. */
const MIN_SIDE = 1;
/** A box that exceeds its scrollport by less than this share does so by rounding. */
const FITS = 0.99;
/** For shares that are computed here and compared with thresholds that the browser compared with its own. */
const ROUNDING = 1 - 1e-9;

export function hasBox(entry: IntersectionObserverEntry | undefined): entry is IntersectionObserverEntry {
  const { width = 0, height = 0 } = entry?.boundingClientRect ?? {};
  return Math.min(width, height) >= MIN_SIDE;
}

export function isInView(boxes: Boxes): boolean {
  return [...boxes.values()].some((entry) => entry?.isIntersecting);
}

/**
 * Whether at least `threshold` of what `boxes` show is visible, and whether the browser reports when that changes.
 *
 * Visible is measured against the subject's own area or, if it is larger than its scrollport, against the largest part
 * of it that fits in there: so a narrow column three screens tall is all visible when it fills the screen from top to
 * bottom.
 */
export function look(element: Element, boxes: Boxes, threshold: number): [visible: boolean, reported: boolean] {
  const entries = [...boxes.values()].filter(hasBox);
  if (!entries.some((entry) => entry.isIntersecting)) return [false, true];
  let area = 0;
  let shown = 0;
  for (const { boundingClientRect, intersectionRatio } of entries) {
    const whole = boundingClientRect.width * boundingClientRect.height;
    area += whole;
    shown += whole * intersectionRatio;
  }
  const enough = (whole: number) => shown > 0 && shown >= threshold * whole * ROUNDING;
  const single = boxes.size < 2;
  if (enough(area)) return [true, single];
  const extent = (start: "left" | "top", end: "right" | "bottom") =>
    Math.max(...entries.map((entry) => entry.boundingClientRect[end])) -
    Math.min(...entries.map((entry) => entry.boundingClientRect[start]));
  const port = scrollport(element, entries[0]?.rootBounds);
  const fitting = Math.min(extent("left", "right"), port.width) * Math.min(extent("top", "bottom"), port.height);
  const fits = fitting > area * FITS;
  return [!fits && enough(fitting), single && fits];
}

/**
 * The room that an element can be seen in, in viewport pixels: what its scroll containers and the viewport leave of
 * each other.
 */
function scrollport(element: Element, viewport: Size | null | undefined): Size {
  const page = element.ownerDocument;
  const { innerWidth, innerHeight } = page.defaultView ?? window;
  // In a frame of another origin, entries do not tell the viewport.
  let width = Math.min(innerWidth, viewport?.width ?? innerWidth);
  let height = Math.min(innerHeight, viewport?.height ?? innerHeight);
  let { position } = getComputedStyle(element);
  // The body's overflow is the viewport's.
  for (let box = parentOf(element); box && box !== page.body; box = parentOf(box)) {
    const style = getComputedStyle(box);
    if (isOutOf(style, position)) continue;
    position = style.position;
    const { clientWidth, clientHeight, offsetWidth, offsetHeight } = box as HTMLElement;
    // What has no such sizes (inline boxes, `display: contents`, SVG) does not scroll.
    if (!clientWidth || !clientHeight || !offsetWidth) continue;
    // Client sizes are those before any transform.
    const outer = box.getBoundingClientRect();
    if (style.overflowX !== "visible") width = Math.min(width, (outer.width * clientWidth) / offsetWidth);
    if (style.overflowY !== "visible") height = Math.min(height, (outer.height * clientHeight) / offsetHeight);
  }
  return { width, height };
}

/** The element that this one is laid out in, across slots and shadow roots. */
function parentOf(element: Element): Element | null | undefined {
  return element.assignedSlot ?? element.parentElement ?? (element.parentNode as ShadowRoot | null)?.host;
}

/** A box taken out of the flow is not clipped by what lies between it and its containing block. */
function isOutOf(ancestor: CSSStyleDeclaration, position: string): boolean {
  return (
    ancestor.transform === "none" &&
    (position === "fixed" || (position === "absolute" && ancestor.position === "static"))
  );
}
