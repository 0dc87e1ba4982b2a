/**
 * Creates elements without markup, since a page's policy may forbid parsing it, and adopts the panel's styles as a
 * constructed sheet: a policy may forbid style elements, but not these.
 */
import css from "./panel.css";

const SVG = "http://www.w3.org/2000/svg";

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = "",
  ...content: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  element.append(...content);
  return element;
}

export function makeSvg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string>,
  ...content: Node[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...content);
  return element;
}

/** Sets an element's text only if it differs, to preserve the selection and avoid layout. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** The sheet of each document, shared by its panels. */
const sheets = new WeakMap<Document, CSSStyleSheet>();

/** Adds the styles; without constructed sheets (Safari before 16.4) as a style element with the page's nonce. */
export function adoptStyles(root: ShadowRoot, nonce: string | undefined): void {
  const { ownerDocument } = root;
  const sheet = sheets.get(ownerDocument) ?? constructSheet(ownerDocument);
  if (sheet) {
    sheets.set(ownerDocument, sheet);
    root.adoptedStyleSheets = [sheet];
  } else if (!root.querySelector("style")) {
    const style = ownerDocument.createElement("style");
    if (nonce !== undefined) style.nonce = nonce;
    style.textContent = css;
    root.prepend(style);
  }
}

function constructSheet({ defaultView }: Document): CSSStyleSheet | undefined {
  try {
    const sheet = new (defaultView ?? globalThis).CSSStyleSheet();
    sheet.replaceSync(css);
    return sheet;
  } catch {
    return undefined;
  }
}
