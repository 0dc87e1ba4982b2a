/**
 * Runs first in a page of the demo without a server: requests to `./api` go to a worker of the page. The phone, which is a
 * frame of the page, uses the same worker: the page passes it the phone's port.
 */
import { device } from "../page/src/device.ts";
import { fetchOver } from "./port.ts";
import type { Joining } from "./worker.ts";

const JOIN = "seenguard-demo-join";
const directory = new URL(".", location.href);
let worker: Worker | undefined;

const isInPage = device === "phone" && window.parent !== window;
globalThis.fetch = fetchOver(isInPage ? joinPage : startWorker, directory);
if (!isInPage) {
  addEventListener("message", ({ data, origin, ports: [port] }: MessageEvent<unknown>) => {
    if (data === JOIN && origin === location.origin && port !== undefined) join(port);
  });
  // The worker starts while the page and its own script are still loading.
  fetch("./api/status").catch(() => undefined);
  scrollOnlyInUse();
  if (document.readyState !== "loading") describeServer();
  else document.addEventListener("DOMContentLoaded", describeServer);
}

/** Starts the worker, or replaces one that has died. */
function startWorker(): MessagePort {
  worker?.terminate();
  worker = new Worker(new URL("worker.ts", import.meta.url), { type: "module" });
  const { port1, port2 } = new MessageChannel();
  join(port2);
  return port1;
}

function join(port: MessagePort): void {
  const joining: Joining = { directory: directory.href };
  worker?.postMessage(joining, [port]);
}

function joinPage(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  window.parent.postMessage(JOIN, location.origin, [port2]);
  return port1;
}

/**
 * In a frame of another page, a wheel scrolls that page until the person uses the demo: a document that cannot scroll
 * passes the wheel to its parent.
 */
function scrollOnlyInUse(): void {
  if (window.parent === window) return;
  const { style } = document.documentElement;
  const setInUse = (inUse: boolean): void => void (style.overflow = inUse ? "" : "hidden");
  style.scrollbarGutter = "stable";
  setInUse(document.hasFocus());
  addEventListener("focus", () => setInUse(true));
  addEventListener("pointerdown", () => setInUse(true));
  addEventListener("blur", () => setInUse(false));
  document.documentElement.addEventListener("pointerleave", () => setInUse(false));
}

function describeServer(): void {
  const way = document.querySelector("#way");
  way?.removeAttribute("hidden");
  way?.querySelector("#way-text")?.replaceChildren("The server runs in this page. Its data ends with the page.");
}
