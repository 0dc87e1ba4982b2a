/**
 * A fake of the shell of iOS: a server of the files that the app has copied, with the bridge before its scripts.
 * WebKitGTK has no scheme `capacitor:`, so the page's origin is an address of this machine, also a secure context.
 */
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { text } from "node:stream/consumers";
import type { Engine, EngineWindow } from "../support/engine.js";
import { bridgeOf, type Call, type NativeSide } from "./native-side.js";
import { pageOf, type Product } from "./product.js";
import type { Shell } from "./reader.js";
import { TYPES, withBridge } from "./webview.js";

/** The native side's results, which the page polls. */
interface Line {
  readonly answer: (result: object) => void;
  /** Resolves to the pending results, as soon as there are any. */
  take(): Promise<object[]>;
}

export interface IosWebview extends Shell {
  close(): Promise<void>;
}

export class IosShell {
  private readonly line = newLine();

  private constructor(
    private readonly server: Server,
    private readonly product: Product,
    private readonly native: NativeSide,
  ) {}

  static async start(product: Product, native: NativeSide): Promise<IosShell> {
    const server = createServer();
    const shell = new IosShell(server, product, native);
    server.on("request", (request, response) => void shell.serve(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return shell;
  }

  async open(engine: Engine): Promise<IosWebview> {
    const window = await engine.newWindow();
    await window.open(`${this.origin}/`);
    const evaluate: Shell["evaluate"] = (run, argument) => window.evaluate(run as never, argument);
    return { evaluate, pull: () => pull(window), close: () => window.close() };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, "close");
  }

  private get origin(): string {
    return `http://localhost:${String((this.server.address() as AddressInfo).port)}`;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "", this.origin).pathname;
    if (path === "/_call") {
      void this.native.receive(JSON.parse(await text(request)) as Call, this.line.answer);
      response.end();
    } else if (path === "/_results") response.end(JSON.stringify(await this.line.take()));
    else if (path.startsWith("/_capacitor_http_interceptor_")) await this.intercept(request, response);
    else await this.sendFile(path === "/" ? "/index.html" : path, response);
  }

  private async intercept(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "", method = "GET", headers } = request;
    const address = new URL(url, this.origin).href;
    const answer = await this.native.intercept(address, method, headers as Record<string, string>);
    const type = answer.headers.get("content-type") ?? "text/plain";
    response.writeHead(answer.status, { "content-type": type }).end(await answer.text());
  }

  private async sendFile(name: string, response: ServerResponse): Promise<void> {
    const file = await readFile(join(pageOf(this.product, "ios"), name)).catch(() => undefined);
    const isPage = name === "/index.html";
    if (isPage) this.native.begin(this.line.answer);
    response.writeHead(file ? 200 : 404, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" });
    response.end(isPage && file ? withBridge(file.toString(), this.script) : file);
  }

  /** The page's side: it posts calls in their order, and polls the results. */
  private get script(): string {
    const connect = (isHttpEnabled: boolean) => {
      const fetch = window.fetch.bind(window);
      let calls: Promise<unknown> = Promise.resolve();
      const postMessage = (call: object) => {
        calls = calls.then(() => fetch("/_call", { method: "POST", body: JSON.stringify(call), keepalive: true }));
      };
      const shell = window as unknown as Record<"webkit" | "Capacitor", unknown>;
      shell.webkit = { messageHandlers: { bridge: { postMessage } } };
      window.prompt = (question) => String(question?.includes('"CapacitorHttp"') === true && isHttpEnabled);
      const listen = async (): Promise<void> => {
        const results = (await (await fetch("/_results")).json()) as object[];
        for (const result of results) (shell.Capacitor as { fromNative(result: object): void }).fromNative(result);
        return listen();
      };
      addEventListener("load", () => void listen());
    };
    const { isHttpEnabled } = this.native;
    return `(${connect.toString()})(${String(isHttpEnabled)}); ${bridgeOf(this.product.modules, "ios", this.origin)}`;
  }
}

function newLine(): Line {
  let waiting: object[] = [];
  let wake = () => {};
  return {
    answer: (result) => {
      waiting.push(result);
      wake();
    },
    take: async () => {
      if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const taken = waiting;
      waiting = [];
      return taken;
    },
  };
}

/** WebDriver has no fingers here: the events of a mouse do. */
const pull = (window: EngineWindow): Promise<void> =>
  window.evaluate(async () => {
    const target = document.querySelector("ion-list");
    const at = async (type: string, clientY: number) => {
      target?.dispatchEvent(new MouseEvent(type, { bubbles: true, composed: true, clientX: 195, clientY, buttons: 1 }));
      // A frame draws the latest of them.
      await new Promise((resolve) => requestAnimationFrame(resolve));
    };
    await at("mousedown", 150);
    for (const y of [160, 200, 300, 400, 500, 560, 560]) await at("mousemove", y);
    await at("mouseup", 560);
  });
