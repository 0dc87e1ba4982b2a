/**
 * The service in Rust beside a server in Node with the same routes, each on one core, over one Redis and in memory:
 * `npm run bench -- --servers`. They are asked in turns; `--readme` also writes the tables into docs/scale.md, and
 * `--smoke` hardly asks anything.
 */
import { parseArgs } from "node:util";
import { programs } from "../../../scripts/lib/programs.mjs";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { buildService } from "../../../scripts/lib/service.mjs";
import { writeTables } from "../../../scripts/lib/tables.mjs";
import { describeLoad, describeMachine } from "../machine.ts";
import { residentBytes } from "../processes.ts";
import { measurePage } from "../rust.ts";
import { everyone, fillUsers, offer, pagesOf, reportsOf, type Work } from "./load.ts";
import { startNode, startRust, type Server, type Turn } from "./processes.ts";
import { IN_REDIS, tablesOf, type Comparison, type Resident } from "./tables.ts";

const { values } = parseArgs({
  options: { servers: { type: "boolean" }, smoke: { type: "boolean" }, readme: { type: "boolean" } },
});
const effort =
  values.smoke === true
    ? { turns: 1, seconds: 1, users: 4, many: 500, bench: { warmUpSeconds: 0.1, seconds: 0.2 } }
    : { turns: 5, seconds: 5, users: 64, many: 100_000, bench: { warmUpSeconds: 0.5, seconds: 1 } };

const say = (line: string) => {
  console.error(`  ${line}`);
};

async function main(): Promise<void> {
  say("compiling seenguard-server");
  const program = await buildService("release");
  const redis = await startRedis();
  const prepared = [
    await prepare(IN_REDIS, await startRust(program, redis.url), await startNode(redis.url)),
    await prepare("in memory", await startRust(program), await startNode()),
  ];
  const comparisons: Comparison[] = [];
  for (const each of prepared) comparisons.push(await compare("page", each), await compare("update", each));
  for (const { rust, node } of prepared) await Promise.all([rust.server.stop(), node.server.stop()]);
  await redis.stop();
  const resident = [
    await residentOf("seenguard-server", await startRust(program)),
    await residentOf("Node", await startNode()),
  ];
  say("a page by the store and by the core");
  const [, core] = await measurePage(effort.bench);
  if (core === undefined) throw new Error("criterion has measured no page");
  const machine = { machine: describeMachine(), load: describeLoad() };
  const tables = tablesOf({ ...machine, comparisons, resident, many: effort.many, core });
  console.log(Object.values(tables).join("\n\n"));
  // Without Redis it is for development: the page does without.
  const { "servers-in-memory": _, "servers-memory": _memory, "servers-page": _page, ...documented } = tables;
  if (values.readme === true) await writeTables(documented, ["docs/scale.md"]);
}

interface Asked {
  readonly server: Server;
  readonly page: Work;
  readonly update: Work;
}
type Prepared = Readonly<Record<"rust" | "node", Asked>> & { readonly place: string };

async function prepare(place: string, rust: Server, node: Server): Promise<Prepared> {
  say(`${place}: filling`);
  await fillUsers(rust.url, effort.users);
  // In Redis both have the same users.
  if (place === "in memory") await fillUsers(node.url, effort.users);
  const asked = async (server: Server) => ({
    server,
    page: await pagesOf(server.url, effort.users),
    update: reportsOf(effort.users),
  });
  return { place, rust: await asked(rust), node: await asked(node) };
}

async function compare(name: "page" | "update", { place, rust, node }: Prepared): Promise<Comparison> {
  say(`${place}: ${name}s`);
  const comparison = { place, name, rust: [] as Turn[], node: [] as Turn[] };
  const both = [
    { ...rust, turns: comparison.rust },
    { ...node, turns: comparison.node },
  ];
  for (const asked of both) await asked.server.ask(asked[name], 1); // warm
  for (let turn = 0; turn < effort.turns; turn++) {
    for (const asked of both) asked.turns.push(await asked.server.ask(asked[name], effort.seconds));
    both.reverse();
  }
  return comparison;
}

/** What `effort.many` users add to a process who have each reported 100 impressions. */
async function residentOf(name: string, server: Server): Promise<Resident> {
  say(`${name}: ${effort.many.toLocaleString("en")} users in memory`);
  const before = residentBytes(server.pid);
  await offer(server.url, everyone(), { amount: effort.many });
  const bytes = residentBytes(server.pid) - before;
  await server.stop();
  return { name, before, bytes };
}

if (process.platform !== "linux") throw new Error("this reads processor times and memory as Linux tells them");
if (programs.redis.find() === undefined) throw new Error("this needs a redis-server");
// The servers end when this process exits, and it exits in order.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
await main();
