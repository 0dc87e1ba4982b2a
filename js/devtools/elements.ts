/** Creates elements without markup, since a page's policy may forbid parsing it. */

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

/** Sets a text only if it differs, to keep the selection and avoid layout. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
