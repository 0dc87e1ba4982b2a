/** The panel's styles, as a constructed sheet: a page's policy may forbid style elements, but not these. */
import css from "./panel.css";

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
