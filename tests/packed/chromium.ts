/** Pages of installed apps in Chromium, and servers for them. Both end with their test. */
import fastifyStatic from "@fastify/static";
import { chromium, type Browser, type Page } from "@playwright/test";
import fastify from "fastify";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { chromiumArguments, programs } from "../../scripts/lib/programs.mjs";

let browser: Browser;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: programs.chromium.find() ?? "", args: [...chromiumArguments] });
});

afterAll(() => browser.close());

export const chromiumVersion = (): string => browser.version();

/** A page in a browser context of its own, with its errors and warnings. */
export async function newPage(): Promise<{ page: Page; complaints: string[]; requests: string[] }> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const [complaints, requests]: [string[], string[]] = [[], []];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  return { page, complaints, requests };
}

/** Opens a new page at an address. */
export async function openPage(url: string): ReturnType<typeof newPage> {
  const opened = await newPage();
  await opened.page.goto(url);
  return opened;
}

/** Serves a directory until the test is over, under a content security policy. */
export async function serve(directory: string, policy?: string): Promise<string> {
  const server = fastify();
  server.addHook("onRequest", (_request, reply, done) => {
    if (policy !== undefined) reply.header("content-security-policy", policy);
    done();
  });
  await server.register(fastifyStatic, { root: directory });
  onTestFinished(() => server.close());
  return server.listen({ port: 0, host: "127.0.0.1" });
}
