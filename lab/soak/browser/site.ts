/** The server of the tabs: the page, a feed, and a stream of impressions that lags by virtual hours. */
import { randomOfText, shuffled } from "../../../www/server/random.ts";
import { build } from "esbuild";
import fastify, { type FastifyInstance } from "fastify";
import { parseReport, plan, ShardChain, type ReceivedReport, type Report } from "seenguard/server";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { DAY_MS, HOUR_MS, type VirtualClock } from "./clock.ts";

const TOTAL = 12_000;
/** The size of a user's pool, and the number of items replaced each day. */
const POOL = 3_000;
const EXCHANGED_A_DAY = 300;
const PAGE_SIZE = 20;
const HOT = 30;
const HOT_A_PAGE = 6;
/** The days after which the server forgets. Devices remember for longer, so they must stop the repeats. */
const SERVER_DAYS = 3;

interface User {
  readonly chain: ShardChain;
  readonly ranking: readonly string[];
  readonly offered: Set<string>;
  /** For each id, the latest time of a recording in the reports, by the device's clock. */
  readonly received: Map<string, number>;
  /** The reports in the stream, in order of arrival. */
  readonly stream: ReceivedReport[];
  requests: number;
}

export class Site {
  /** The lag of the stream, in virtual time. */
  lagMs = HOUR_MS;
  /** Whether connections are cut. */
  isDown = false;
  origin = "";
  private readonly server: FastifyInstance = fastify({ forceCloseConnections: true, bodyLimit: 1 << 22 });
  private readonly users = new Map<string, User>();

  private constructor(
    private readonly clock: VirtualClock,
    script: string,
  ) {
    const { server } = this;
    server.removeContentTypeParser("text/plain");
    server.addContentTypeParser("text/plain", { parseAs: "string" }, (_, body, done) => done(null, body));
    server.get("/", (_, reply) => reply.type("text/html").send(this.page()));
    server.get("/app.js", (_, reply) => reply.type("text/javascript").send(script));
    server.addHook("onRequest", (request, _, done) => {
      if (this.isDown && request.url.startsWith("/api/")) request.raw.socket.destroy();
      else done();
    });
    interface ForUser {
      Params: { user: string };
      Querystring: { cursor?: string };
    }
    server.get<ForUser>("/api/users/:user/feed", async ({ params, query, headers }) => {
      const user = await this.user(params.user);
      const [held, pending] = [headers["seen-held"], headers["seen-pending"]].map((header) => String(header ?? ""));
      return this.feed(user, Number(query.cursor ?? "0"), held ?? "", pending ?? "");
    });
    server.post<ForUser>("/api/users/:user/impressions", async ({ params, body }, reply) => {
      this.take(await this.user(params.user), body);
      return reply.code(204).send();
    });
  }

  static async start(clock: VirtualClock): Promise<Site> {
    const entryPoints = [inProject("lab", "soak", "browser", "app.ts")];
    const { outputFiles } = await build({ entryPoints, bundle: true, format: "iife", write: false });
    const site = new Site(clock, outputFiles[0]?.text ?? "");
    site.origin = await site.server.listen({ host: "127.0.0.1", port: 0 });
    return site;
  }

  /** The time of the latest reported recording of an id; `undefined` if no report contained it. */
  receivedAt(user: string, id: string): number | undefined {
    return this.users.get(user)?.received.get(id);
  }

  async close(): Promise<void> {
    await this.server.close();
    for (const { chain } of this.users.values()) chain.free();
  }

  private page(): string {
    const style = "main { height: 300px; overflow: auto } article { height: 90px }";
    const settings = JSON.stringify(this.clock.settings);
    return `<!doctype html><meta charset="utf-8"><title>Soak</title><style>${style}</style><body>
<script>clockSettings = ${settings}</script><script src="/app.js"></script>`;
  }

  private async user(name: string): Promise<User> {
    const known = this.users.get(name);
    if (known) return known;
    const { capacity, shards, falsePositiveRate } = plan({
      perDay: 400,
      windowDays: SERVER_DAYS,
      falsePositiveRate: 0.005,
    });
    const ttlSeconds = SERVER_DAYS * 86_400;
    const chain = await ShardChain.create({ capacity, shards, falsePositiveRate, ttlSeconds });
    const ids = Array.from({ length: TOTAL }, (_, number) => `article-${String(number)}`);
    const ranking = shuffled(ids, randomOfText(name));
    // A concurrent call may have added the same user.
    const user = this.users.get(name) ?? {
      chain,
      ranking,
      offered: new Set(),
      received: new Map(),
      stream: [],
      requests: 0,
    };
    this.users.set(name, user);
    return user;
  }

  private feed(user: User, cursor: number, held: string, pending: string): object {
    const now = this.clock.now() / 1000;
    this.advance(user);
    const fresh = user.chain.filter(this.poolOf(user), { now, pending });
    const random = randomOfText(`${user.ranking[0] ?? ""} ${String(user.requests++)}`);
    const hot = shuffled(fresh.slice(0, HOT), random).slice(0, HOT_A_PAGE);
    const rest = shuffled(fresh.slice(HOT), random).slice(0, PAGE_SIZE - hot.length);
    const items = [...hot, ...rest].map((id) => ({ id, first: !user.offered.has(id) }));
    for (const { id } of items) user.offered.add(id);
    return { items, snapshot: user.chain.snapshot({ now, held }), next: String(cursor + 1) };
  }

  /** The candidates of the day, the best first. */
  private poolOf({ ranking }: User): string[] {
    const day = Math.floor((this.clock.now() - this.clock.settings.epochMs) / DAY_MS);
    const first = (day * EXCHANGED_A_DAY) % TOTAL;
    return [...ranking, ...ranking].slice(first, first + POOL);
  }

  private take(user: User, body: unknown): void {
    const sent = (typeof body === "string" ? JSON.parse(body) : body) as Report;
    for (const { id, at } of [...sent.impressions, ...(sent.unseen ?? [])])
      user.received.set(id, Math.max(at, user.received.get(id) ?? 0));
    user.stream.push(parseReport(body, { now: this.clock.now() / 1000 }));
  }

  /** Ingests the reports that are old enough. Their times are of the server's clock since their arrival. */
  private advance({ chain, stream }: User): void {
    while (stream[0] !== undefined && stream[0].receivedAt + this.lagMs <= this.clock.now()) {
      const report = stream.shift();
      if (report) chain.ingest(report);
    }
  }
}
