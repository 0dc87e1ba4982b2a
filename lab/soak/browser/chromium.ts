/** Chromium of the system, started as a process of its own so that it can be killed. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chromium, type Browser, type BrowserContext, type CDPSession, type Page } from "@playwright/test";
import { chromiumArguments, programs } from "../../../scripts/lib/programs.mjs";
import { endpointOf } from "../../../tests/support/browsers.ts";
import { expressionOf, type DrivenBrowser, type Driver, type Tab, type TabSample } from "./driver.ts";
import { residentBytesOf } from "../../benches/machine.ts";

/** Flags with which all tabs run as if each were in front. */
const ALL_IN_FRONT = [
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
];
const CONNECT_MS = 30_000;

export const chromiumDriver: Driver = {
  name: "chromium",
  async start(profile) {
    const executable = programs.chromium.find();
    if (executable === undefined) throw new Error(`${programs.chromium.apt} is missing: npm run setup`);
    const args = [...chromiumArguments, ...ALL_IN_FRONT, "--headless=new", "--remote-debugging-port=0"];
    const child = spawn(executable, [...args, `--user-data-dir=${profile}`], { stdio: ["ignore", "ignore", "pipe"] });
    const endWithUs = () => child.kill("SIGKILL");
    process.once("exit", endWithUs);
    child.once("exit", () => process.removeListener("exit", endWithUs));
    try {
      return await connect(child);
    } catch (error) {
      // Sometimes Chromium accepts the connection but does not respond. End it, so that it releases the profile.
      await killed(child);
      throw error;
    }
  },
};

async function connect(child: ChildProcess): Promise<DrivenBrowser> {
  const browser = await chromium.connectOverCDP(await endpointOf(child), { timeout: CONNECT_MS });
  const [context] = browser.contexts();
  if (context === undefined) throw new Error("Chromium has no context");
  return new DrivenChromium(child, browser, context);
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

class DrivenChromium implements DrivenBrowser {
  readonly version: string;

  constructor(
    private readonly process: ChildProcess,
    private readonly browser: Browser,
    private readonly context: BrowserContext,
  ) {
    this.version = `Chromium ${browser.version()}`;
  }

  async newTab(url: string): Promise<Tab> {
    const page = await this.context.newPage();
    await page.goto(url);
    return new ChromiumTab(page, await this.context.newCDPSession(page), new URL(url).origin);
  }

  setOffline(isOffline: boolean): Promise<void> {
    return this.context.setOffline(isOffline);
  }

  residentBytes(): number {
    return residentBytesOf(this.process.pid ?? 0);
  }

  async kill(): Promise<void> {
    await killed(this.process);
    await this.browser.close().catch(() => undefined); // the connection is closed already
  }
}

class ChromiumTab implements Tab {
  constructor(
    private readonly page: Page,
    private readonly session: CDPSession,
    private readonly origin: string,
  ) {}

  call: Tab["call"] = (name, ...args) => this.page.evaluate(expressionOf(name, args));

  async reload(): Promise<void> {
    await this.page.reload();
  }

  close(): Promise<void> {
    return this.page.close();
  }

  async kill(): Promise<void> {
    const crashed = this.page.waitForEvent("crash");
    void this.session.send("Page.crash").catch(() => undefined); // a crashed page does not respond
    await crashed;
    await this.page.close();
  }

  async sample(): Promise<TabSample> {
    await this.session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await this.session.send("Runtime.getHeapUsage");
    const { nodes, jsEventListeners } = await this.session.send("Memory.getDOMCounters");
    return { heap: usedSize, objects: await this.countObjects(), nodes, listeners: jsEventListeners };
  }

  private async countObjects(): Promise<number> {
    const objectGroup = "counted";
    const { result: prototype } = await this.session.send("Runtime.evaluate", {
      expression: "Object.prototype",
      objectGroup,
    });
    const prototypeObjectId = prototype.objectId ?? "";
    const { objects } = await this.session.send("Runtime.queryObjects", { prototypeObjectId, objectGroup });
    const { result } = await this.session.send("Runtime.callFunctionOn", {
      objectId: objects.objectId ?? "",
      functionDeclaration: "function () { return this.length; }",
      returnByValue: true,
    });
    await this.session.send("Runtime.releaseObjectGroup", { objectGroup });
    return result.value as number;
  }

  async slowDown(factor: number): Promise<void> {
    await this.session.send("Emulation.setCPUThrottlingRate", { rate: factor });
  }

  async limitStorage(moreBytes: number | undefined): Promise<void> {
    const { origin, session } = this;
    if (moreBytes === undefined) await session.send("Storage.overrideQuotaForOrigin", { origin });
    else {
      const { usage } = await session.send("Storage.getUsageAndQuota", { origin });
      await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: usage + moreBytes });
    }
  }
}
