/** The person's second device: this page again, as a phone in a frame next to the feeds. */
import { one } from "./column.ts";

const PARAMETER = "phone";

/** The address has its state, so that it survives a reload, and a visit to an article. */
export function wirePhone(): void {
  const toggle = one(document, "#with-phone") as HTMLInputElement;
  toggle.checked = new URL(location.href).searchParams.has(PARAMETER);
  show(toggle.checked);
  toggle.addEventListener("change", () => {
    const address = new URL(location.href);
    if (toggle.checked) address.searchParams.set(PARAMETER, "on");
    else address.searchParams.delete(PARAMETER);
    history.replaceState(history.state, "", address);
    show(toggle.checked);
    // Where one feed is shown at a time.
    (one(document, `.view[data-view="${toggle.checked ? "phone" : "guarded"}"]`) as HTMLElement).click();
  });
}

function show(visible: boolean): void {
  one(document, "#feeds").classList.toggle("with-phone", visible);
  one(document, "#phone .screen").replaceChildren(...(visible ? [frame()] : []));
}

function frame(): HTMLIFrameElement {
  const address = new URL(location.href);
  address.searchParams.delete(PARAMETER);
  address.searchParams.set("device", "phone");
  const element = document.createElement("iframe");
  element.title = "Your phone";
  element.src = address.href;
  return element;
}
