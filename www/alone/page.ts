/**
 * Runs first in a page of the demo that has no server: what it fetches from `./api` goes to a worker of its own. The
 * phone, which is a frame of the page, has the same worker: the page hands it the phone's port.
 */
import { device } from "../page/src/device.ts";
import { fetchOver } from "./port.ts";
import type { Joining } from "./worker.ts";

const JOIN = "seenguard-demo-join";
const directory = new URL(".", location.href);

const isInPage = device === "phone" && window.parent !== window;
globalThis.fetch = fetchOver(isInPage ? joinPage : startWorker, directory);
if (!isInPage) {
  addEventListener("message", ({ data, origin, ports: [port] }: MessageEvent<unknown>) => {
    if (data === JOIN && origin === location.origin && port !== undefined) join(port);
  });
  sayWhereServerIs();
}

let worker: Worker | undefined;

/** In the place of one that has died, too. */
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

function sayWhereServerIs(): void {
  const way = document.querySelector("#way");
  way?.removeAttribute("hidden");
  way?.querySelector("#way-text")?.replaceChildren("The server runs in this page. What it knows ends with the page.");
}
