/** A session of WebKitGTK's little browser on a screen of its own, driven by WebDriver. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Builder, type WebDriver } from "selenium-webdriver";
import { freePort } from "../../scripts/lib/ports.mjs";
import { programs } from "../../scripts/lib/programs.mjs";

export interface Session {
  readonly driver: WebDriver;
  end(): Promise<void>;
}

export async function startWebKit(): Promise<Session> {
  const binary = required("webkitBrowser");
  const port = await freePort();
  // A group of its own, so that the screen, the driver and the browser end together.
  const screen = spawn(required("xvfb"), ["--auto-servernum", required("webkitDriver"), `--port=${String(port)}`], {
    detached: true,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${String(port)}`;
  await untilReady(url, () => screen.exitCode);
  const driver = await new Builder()
    .usingServer(url)
    .withCapabilities({ browserName: "MiniBrowser", "webkitgtk:browserOptions": { binary, args: ["--automation"] } })
    .build();
  await driver.manage().setTimeouts({ script: 20_000, pageLoad: 20_000 });
  const end = async () => {
    await driver.quit().catch(() => undefined); // the group ends anyway
    if (screen.exitCode === null && screen.pid !== undefined) {
      process.kill(-screen.pid);
      await once(screen, "exit");
    }
  };
  return { driver, end };
}

function required(name: "webkitBrowser" | "webkitDriver" | "xvfb"): string {
  const { find, apt } = programs[name];
  const path = find();
  if (path === undefined) throw new Error(`${apt} is missing: npm run setup`);
  return path;
}

/** A driver answers /status once it takes sessions. */
async function untilReady(url: string, exitCode: () => number | null): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (exitCode() !== null) throw new Error(`WebKitWebDriver ended with exit code ${String(exitCode())}`);
    const ready = await fetch(`${url}/status`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("WebKitWebDriver does not answer");
}
