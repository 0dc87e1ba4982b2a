/**
 * A fake of an app's native side, after Capacitor's sources: HttpRequestHandler.java and CapacitorHttpUrlConnection.java
 * make the page's requests, WebViewLocalServer.java those that its `fetch` leaves to the proxy, and the plugins App and
 * Preferences respond. It outlives the webviews, as the store of Preferences outlives the app.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A call of the page, as native-bridge.js posts it. */
export interface Call {
  readonly callbackId: string;
  readonly pluginId: string;
  readonly methodName: string;
  readonly options: Record<string, unknown>;
}

/** Passes a result to a webview. */
type Respond = (result: object) => void;

interface HttpOptions {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly data?: unknown;
}

export class NativeSide {
  /** Whether capacitor.config.json has `CapacitorHttp` enabled. */
  readonly isHttpEnabled: boolean;
  /** Method and address of each request that the system made for a page. */
  readonly requests: string[] = [];
  /** Whether the system makes no requests, so that those of the page stay pending. */
  isNetworkSilent = false;
  private readonly values = new Map<string, string>();
  private listeners: { readonly name: string; readonly call: Call; readonly respond: Respond }[] = [];

  constructor(isHttpEnabled: boolean) {
    this.isHttpEnabled = isHttpEnabled;
  }

  /** A document begins in the webview of `respond`: the listeners of the document before it are removed. */
  begin(respond: Respond): void {
    this.listeners = this.listeners.filter((listener) => listener.respond !== respond);
  }

  /** The app comes to the foreground or leaves it. */
  changeState(isActive: boolean): void {
    for (const { name, call, respond } of this.listeners) {
      if (name === "appStateChange") respond({ ...call, success: true, data: { isActive }, save: true });
    }
  }

  async receive(call: Call, respond: Respond): Promise<void> {
    try {
      const data = await this.perform(call, respond);
      if (data !== undefined) respond({ ...call, success: true, data });
    } catch (error) {
      respond({ ...call, success: false, error: { message: String(error) } });
    }
  }

  /** Resolves to the result; `undefined`: there is none yet. */
  private async perform(call: Call, respond: Respond): Promise<object | undefined> {
    const { pluginId, methodName, options } = call;
    const key = options.key as string;
    switch (`${pluginId}.${methodName}`) {
      case "CapacitorHttp.request":
        return this.request(options as unknown as HttpOptions);
      case "Preferences.get":
        return { value: this.values.get(key) ?? null };
      case "Preferences.set":
        this.values.set(key, options.value as string);
        return {};
      case "Preferences.remove":
        this.values.delete(key);
        return {};
      case "App.addListener":
        this.listeners.push({ name: options.eventName as string, call, respond });
        return undefined;
      case "App.removeListener":
        this.listeners = this.listeners.filter((listener) => listener.call.callbackId !== options.callbackId);
        return undefined;
      // iOS passes on the page's console output.
      case "Console.log":
        return undefined;
      default:
        throw new Error(`${pluginId}.${methodName} is not simulated`);
    }
  }

  /** Makes a request. It follows redirects, cannot be aborted, and has no timeout. */
  private async request({ url, method, headers, data }: HttpOptions): Promise<object> {
    const type = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
    // Without the type of its content a request is sent without the content.
    const body = data !== undefined && type ? (data as string) : null;
    const response = await this.send(url, { method, headers, body });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("application/json") ?? false;
    const of = { status: response.status, headers: Object.fromEntries(response.headers), url: response.url };
    return { ...of, data: isJson ? (JSON.parse(text) as unknown) : text, ...(response.ok ? {} : { error: true }) };
  }

  /** Makes the page's request to the address `/_capacitor_http_interceptor_?u=…`. */
  intercept(address: string, method: string, headers: Record<string, string>): Promise<Response> {
    return this.send(new URL(address).searchParams.get("u") ?? "", { method, headers });
  }

  private async send(url: string, init: RequestInit): Promise<Response> {
    this.requests.push(`${init.method ?? "GET"} ${new URL(url).pathname}`);
    if (this.isNetworkSilent) return new Promise(() => {});
    // The system has no origin.
    const headers = new Headers(init.headers);
    for (const name of ["origin", "referer", "host", "connection"]) headers.delete(name);
    return fetch(url, { ...init, headers });
  }
}

/** What the shell puts before the scripts of a page: which plugins it has, and its bridge. */
export function bridgeOf(modules: string, platform: "android" | "ios", origin: string): string {
  const bridge = {
    android: "android/capacitor/src/main/assets/native-bridge.js",
    ios: "ios/Capacitor/Capacitor/assets/native-bridge.js",
  }[platform];
  const read = (path: string) => readFileSync(join(modules, "@capacitor", path), "utf8");
  const headers = pluginSources.map(([name, path]) => ({ name, methods: methodsOf(read(path)) }));
  return `
    window.Capacitor = { DEBUG: false, isLoggingEnabled: false, Plugins: {} };
    window.WEBVIEW_SERVER_URL = ${JSON.stringify(origin)};
    ${read(bridge)}
    window.Capacitor.PluginHeaders = ${JSON.stringify(headers)};`;
}

const pluginSources = [
  ["App", "app/android/src/main/java/com/capacitorjs/plugins/app/AppPlugin.java"],
  ["Preferences", "preferences/android/src/main/java/com/capacitorjs/plugins/preferences/PreferencesPlugin.java"],
  ["CapacitorHttp", "android/capacitor/src/main/java/com/getcapacitor/plugin/CapacitorHttp.java"],
] as const;

/** The methods that a plugin exports to the page, and what each plugin has. */
function methodsOf(source: string): { name: string; rtype?: string }[] {
  const methods = source.matchAll(/@PluginMethod(?:\(returnType = PluginMethod\.RETURN_(\w+)\))?\s+public void (\w+)/g);
  const own = Array.from(methods, ([, type = "PROMISE", name = ""]) => ({
    name,
    ...(type === "NONE" ? {} : { rtype: type.toLowerCase() }),
  }));
  return [...own, { name: "addListener" }, { name: "removeListener" }];
}
