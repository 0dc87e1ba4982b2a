/**
 * The app in examples/tauri on WebKitGTK: it repeats nothing that it showed, under a strict policy, with the plugin's
 * fetch, after SIGKILL, in each of its windows and stores. Its server here starts with an empty store, so left-out items
 * are those that the device remembers.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { until as untilSo } from "selenium-webdriver";
import { inProject } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Report } from "seenguard";
import { startWebKit, type Session } from "../support/webkit-driver.ts";
import { until } from "../support/processes.ts";
import { npmInstall, pack } from "../packed/pack.ts";

/** A request that the server got. */
interface ServerRequest {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const exec = promisify(execFile);

interface BuiltApp {
  readonly binary: string;
  /** The example's server, with a store of its own. */
  readonly startServer: (options: {
    isStreaming: () => boolean;
    onRequest: (request: ServerRequest) => void;
  }) => Promise<Server>;
}

let app: BuiltApp;
/** The directory of the app's data. */
let data: string;
let server: Server;
let requests: ServerRequest[];
let session: Session;

beforeAll(async () => {
  app = await buildApp();
});

beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), "seenguard-tauri-"));
  await restart();
});

afterEach(async () => {
  await session.end();
  await stopServer();
  await rm(data, { recursive: true, force: true });
});

/** A server with an empty store, and the app. */
async function restart(): Promise<void> {
  requests = [];
  server = await app.startServer({ isStreaming: () => false, onRequest: (request) => requests.push(request) });
  const environment = {
    HOME: data,
    XDG_DATA_HOME: join(data, "share"),
    TAURI_WEBVIEW_AUTOMATION: "true",
    WEBKIT_DISABLE_COMPOSITING_MODE: "1",
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
  };
  session = await startWebKit({ name: "wry", binary: app.binary, args: [], environment });
  await untilShown();
}

async function stopServer(): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function killAndRestart(): Promise<void> {
  await session.kill();
  await stopServer();
  await restart();
}

const shown = (): Promise<string[]> =>
  session.driver.executeScript(() => Array.from(document.querySelectorAll("li"), ({ dataset }) => dataset.seenId));

const untilShown = () => until("stories are shown", async () => (await shown()).length > 0);

const press = (id: string) => session.driver.findElement({ id }).click();

const toWindow = (handle: string) => session.driver.switchTo().window(handle);

async function refresh(): Promise<void> {
  const before = requests.length;
  await press("refresh");
  await until("a page was requested", () =>
    Promise.resolve(requests.slice(before).some(({ path }) => path === "/api/feed")),
  );
  await untilShown();
}

/** The ids that the windows have reported, in order. */
const reported = (): string[] => requests.filter(({ method }) => method === "POST").flatMap(idsOf);

const idsOf = ({ body }: ServerRequest): string[] => (JSON.parse(body) as Report).impressions.map(({ id }) => id);

const untilReported = (count: number) =>
  until(`${String(count)} stories are reported`, () => Promise.resolve(new Set(reported()).size >= count));

const common = (some: readonly string[], others: readonly string[]) => some.filter((id) => others.includes(id));

test("the guard works under a strict policy, and pages and reports use the plugin's fetch", async () => {
  const origin = await session.driver.executeScript(() => location.origin);
  expect(origin).toBe("tauri://localhost");
  await untilReported(2);
  const seen = reported();
  await refresh();
  expect(common(await shown(), seen)).toEqual([]);
  const methods = new Set(requests.map(({ method }) => method));
  expect(methods).toEqual(new Set(["GET", "POST"]));
  expect(requests.filter(({ path }) => path === "/api/feed").at(-1)?.headers["seen-pending"]).toBeDefined();
  const forbidden = await session.driver.executeAsyncScript((done: (name: string) => void) => {
    fetch("http://localhost:8787/api/feed").then(
      () => done("allowed"),
      () => done("forbidden"),
    );
  });
  expect(forbidden).toBe("forbidden");
});

describe.each([
  ["IndexedDB", ""],
  ["the app's own store", "?own"],
])("in %s", (_, query) => {
  async function open(): Promise<void> {
    if (query === "") return;
    await session.driver.get(`tauri://localhost/index.html${query}`);
    await session.driver.wait(untilSo.urlContains(query));
    await untilShown();
  }

  test("each of two windows leaves out the other's items, also after SIGKILL and with an empty server", async () => {
    await open();
    const [first = ""] = await session.driver.getAllWindowHandles();
    await untilReported(2);
    const ofFirst = reported();
    await press("window");
    await until("there are two windows", async () => (await session.driver.getAllWindowHandles()).length === 2);
    const second = (await session.driver.getAllWindowHandles()).find((handle) => handle !== first) ?? "";
    await toWindow(second);
    await untilShown();
    expect(common(await shown(), ofFirst)).toEqual([]);
    await untilReported(ofFirst.length + 2);
    const ofBoth = reported();
    await toWindow(first);
    await refresh();
    expect(common(await shown(), ofBoth)).toEqual([]);
    await killAndRestart();
    await open();
    expect(common(await shown(), ofBoth)).toEqual([]);
    if (query === "") return;
    const file = await readFile(join(data, "share", "com.example.feed", "seen.json"), "utf8");
    const keys = Object.keys(JSON.parse(file) as object);
    expect(keys).not.toEqual([]);
    expect(keys.filter((key) => !key.startsWith("seenguard/home:ada/"))).toEqual([]);
  });

  test("after signing out all items are shown again", async () => {
    await open();
    await untilReported(2);
    await press("sign-out");
    await until("nothing is shown", async () => (await shown()).length === 0);
    await session.end();
    await stopServer();
    await restart();
    await open();
    expect((await shown())[0]).toBe("story-0");
  });
});

/** The app as its team has it: a copy with the packed package installed, and compiled. */
async function buildApp(): Promise<BuiltApp> {
  const target = inProject("target", "tauri");
  const directory = join(target, "app");
  await copySources(directory);
  const { tarball } = await pack(directory);
  await npmInstall(directory, `./${tarball}`);
  await exec(process.execPath, [inProject("node_modules", "typescript", "bin", "tsc"), "-p", directory]);
  await exec("npm", ["run", "build"], { cwd: directory });
  // As `tauri build` does: the pages are in the program, and come by Tauri's own scheme.
  const args = ["build", "--locked", "--features", "tauri/custom-protocol"];
  await run("cargo", args, { cwd: join(directory, "src-tauri"), env: { CARGO_TARGET_DIR: target } });
  const { startServer } = (await import(join(directory, "server.mjs"))) as Pick<BuiltApp, "startServer">;
  return { binary: join(target, "debug", "seenguard-example-tauri"), startServer };
}

/** Replaces the former copy at the same path: cargo compiles only the changes. */
async function copySources(directory: string): Promise<void> {
  const isSource = (path: string) => !/[/\\](node_modules|dist|gen|target)$/.test(path);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const sources = inProject("examples", "tauri");
  await cp(sources, directory, { recursive: true, preserveTimestamps: true, filter: isSource });
}
