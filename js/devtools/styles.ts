/** The panel's styles. No policy of a page forbids a constructed sheet, as it may a style element. */
import css from "./panel.css";

/** A sheet is of one document, and shared by all panels in it. */
const sheets = new WeakMap<Document, CSSStyleSheet>();

/** Without constructed sheets (Safari before 16.4) a style element has them, with the page's nonce. */
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
