/**
 * Compares the service in Rust with a server in Node with the same routes, each on one core, over one Redis: `npm run
 * bench -- --servers`. They get requests in turns. `--readme` also writes the tables into docs/scale.md; `--smoke`
 * sends the fewest requests.
 */
import { parseArgs } from "node:util";
import { programs } from "../../../scripts/lib/programs.mjs";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { buildService } from "../../../scripts/lib/service.mjs";
import { writeTables } from "../../../scripts/lib/tables.mjs";
import { describeRun } from "../machine.ts";
import { fillUsers, pagesOf, reportsOf, type Work } from "./load.ts";
import { startNode, startRust, type Server, type Turn } from "./processes.ts";
import { tablesOf, type Comparison } from "./tables.ts";

const { values } = parseArgs({ options: { smoke: { type: "boolean" }, readme: { type: "boolean" } } });
const effort = values.smoke === true ? { turns: 1, seconds: 1, users: 4 } : { turns: 5, seconds: 5, users: 64 };

const print = (line: string) => {
  console.error(`  ${line}`);
};

async function main(): Promise<void> {
  print("compiling seenguard-server");
  const program = await buildService("release");
  const run = await describeRun();
  const redis = await startRedis();
  const servers = { rust: await startRust(program, redis.url), node: await startNode(redis.url) };
  print("filling the chains");
  await fillUsers(servers.rust.url, effort.users);
  const comparisons = [
    await compare("page", servers, (server) => pagesOf(server.url, effort.users)),
    await compare("update", servers, () => Promise.resolve(reportsOf(effort.users))),
  ];
  await Promise.all([servers.rust.stop(), servers.node.stop()]);
  await redis.stop();
  const tables = tablesOf(run, comparisons);
  console.log(Object.values(tables).join("\n\n"));
  if (values.readme === true) await writeTables(tables, ["docs/scale.md"]);
}

async function compare(
  name: Comparison["name"],
  { rust, node }: Readonly<Record<"rust" | "node", Server>>,
  workFor: (server: Server) => Promise<Work>,
): Promise<Comparison> {
  print(`${name}s`);
  const comparison = { name, rust: [] as Turn[], node: [] as Turn[] };
  const both = [
    { server: rust, work: await workFor(rust), turns: comparison.rust },
    { server: node, work: await workFor(node), turns: comparison.node },
  ];
  for (const { server, work } of both) await server.ask(work, 1); // warm
  for (let turn = 0; turn < effort.turns; turn++) {
    for (const { server, work, turns } of both) turns.push(await server.ask(work, effort.seconds));
    both.reverse();
  }
  return comparison;
}

if (process.platform !== "linux") throw new Error("this benchmark reads processor times from /proc, which needs Linux");
if (programs.redis.find() === undefined) throw new Error("this benchmark needs redis-server");
// The servers end when this process exits, and it exits in order.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
await main();
