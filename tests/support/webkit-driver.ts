/** A session of WebKitGTK on a screen of its own, driven by WebDriver: its little browser, or an app's webview. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Builder, type WebDriver } from "selenium-webdriver";
import { freePort } from "../../scripts/lib/processes.mjs";
import { programs } from "../../scripts/lib/programs.mjs";

export interface Session {
  readonly driver: WebDriver;
  end(): Promise<void>;
  /** Ends all its processes at once, as by SIGKILL. */
  kill(): Promise<void>;
}

/** A program whose webviews WebDriver can drive. */
export interface WebKitProgram {
  readonly name: string;
  readonly binary: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const miniBrowser = (): WebKitProgram => ({
  name: "MiniBrowser",
  binary: required("webkitBrowser"),
  args: ["--automation"],
});

export async function startWebKit(program = miniBrowser()): Promise<Session> {
  const { name, binary, args, environment } = program;
  const port = await freePort();
  // A group of its own, so that the screen, the driver and the browser end together.
  const screen = spawn(required("xvfb"), ["--auto-servernum", required("webkitDriver"), `--port=${String(port)}`], {
    detached: true,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, ...environment },
  });
  const url = `http://127.0.0.1:${String(port)}`;
  await untilReady(url, () => screen.exitCode);
  const driver = await new Builder()
    .usingServer(url)
    .withCapabilities({ browserName: name, "webkitgtk:browserOptions": { binary, args } })
    .build();
  await driver.manage().setTimeouts({ script: 20_000, pageLoad: 20_000 });
  const endGroup = async (signal: NodeJS.Signals) => {
    if (screen.exitCode !== null || screen.signalCode !== null || screen.pid === undefined) return;
    process.kill(-screen.pid, signal);
    await once(screen, "exit");
  };
  const end = async () => {
    await driver.quit().catch(() => undefined); // the group ends anyway
    await endGroup("SIGTERM");
  };
  return { driver, end, kill: () => endGroup("SIGKILL") };
}

function required(name: "webkitBrowser" | "webkitDriver" | "xvfb"): string {
  const { find, apt } = programs[name];
  const path = find();
  if (path === undefined) throw new Error(`${apt} is missing: npm run setup`);
  return path;
}

/** Resolves when the driver accepts sessions. */
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
  throw new Error("WebKitWebDriver does not respond");
}
