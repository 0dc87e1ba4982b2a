/** Browsers that the test can kill, and start again over the same profile. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium, type Browser, type Page } from "@playwright/test";
import { chromiumArguments, programs } from "../../scripts/lib/programs.mjs";

/** The profile of a browser: its data across visits. */
export class Profile {
  readonly #directory: string;
  readonly #started: MortalBrowser[] = [];

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Creates a profile with these settings. */
  static async create(settings: object = {}): Promise<Profile> {
    const directory = await mkdtemp(join(tmpdir(), "seenguard-profile-"));
    await mkdir(join(directory, "Default"));
    await writeFile(join(directory, "Default", "Preferences"), JSON.stringify(settings));
    return new Profile(directory);
  }

  /** Starts a browser over this profile. */
  async start(): Promise<MortalBrowser> {
    const browser = await MortalBrowser.start(this.#directory);
    this.#started.push(browser);
    return browser;
  }

  async remove(): Promise<void> {
    for (const browser of this.#started) await browser.kill();
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** A Chromium started as a child process, since Playwright does not expose the processes of its own. */
export class MortalBrowser {
  readonly #process: ChildProcess;
  readonly #browser: Browser;

  private constructor(process: ChildProcess, browser: Browser) {
    this.#process = process;
    this.#browser = browser;
  }

  /** Sometimes Chromium accepts the connection and never responds: then it is restarted. */
  static async start(profile: string, attempts = 3): Promise<MortalBrowser> {
    const executable = programs.chromium.find();
    if (executable === undefined) throw new Error("chromium is missing: npm run setup");
    const child = spawn(
      executable,
      [...chromiumArguments, "--headless=new", "--remote-debugging-port=0", `--user-data-dir=${profile}`],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    try {
      return new MortalBrowser(child, await chromium.connectOverCDP(await endpointOf(child), { timeout: 15_000 }));
    } catch (error) {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      if (attempts === 1) throw error;
      return MortalBrowser.start(profile, attempts - 1);
    }
  }

  newPage(): Promise<Page> {
    const [context] = this.#browser.contexts();
    if (context === undefined) throw new Error("the browser has no context");
    return context.newPage();
  }

  /** Kills the browser's process and its helpers at once, before they can write anything. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await gone;
    await this.#browser.close().catch(() => undefined); // the connection is gone already
  }

  /** Closes the browser like a person. */
  async quit(): Promise<void> {
    const gone = once(this.#process, "exit");
    const session = await this.#browser.newBrowserCDPSession();
    await session.send("Browser.close").catch(() => undefined); // it may end before it responds
    await gone;
  }
}

/** The address of the debugging protocol of a started Chromium. */
export async function endpointOf(child: ChildProcess): Promise<string> {
  if (child.stderr === null) throw new Error("no standard error");
  const said: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    said.push(line);
    const endpoint = /^DevTools listening on (ws:\S+)/.exec(line)?.[1];
    if (endpoint !== undefined) {
      child.stderr.resume(); // unread output would block it
      return endpoint;
    }
  }
  throw new Error(`chromium did not start:\n${said.join("\n")}`);
}
