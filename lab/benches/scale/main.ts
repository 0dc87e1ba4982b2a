/**
 * The costs of many users in Redis, on the processors and on the wire. `npm run bench -- --scale` measures and prints;
 * with `--readme` it also writes the tables into docs/scale.md. `--smoke` measures with the fewest repetitions.
 */
import { parseArgs } from "node:util";
import { writeTables } from "../../../scripts/lib/tables.mjs";
import { describeRun } from "../machine.ts";
import { ages, FULL, HALF, recommended, type Age, type Sizes } from "./chains.ts";
import { fill, type UserMemory } from "./memory.ts";
import { measureOperations } from "./operations.ts";
import { infoOf, numberIn, withMaster, withReplica } from "./redis.ts";
import { tablesOf, type ScaleResults } from "./tables.ts";
import { weighReport, weighWire } from "./wire.ts";

const { values } = parseArgs({ options: { smoke: { type: "boolean" }, readme: { type: "boolean" } } });
const effort = values.smoke === true ? { users: 100, times: 100, days: 1 } : { users: 2000, times: 10_000, days: 10 };

const print = (line: string) => {
  console.error(`  ${line}`);
};

async function main(): Promise<void> {
  const run = await describeRun();
  const memory: UserMemory[] = [];
  for (const age of ages) memory.push(await memoryOf(recommended, age));
  const { costs, fragmentation, redisVersion } = await loadRedis(recommended);
  print("on the wire");
  const wire = [];
  for (const age of [HALF, FULL]) wire.push(await weighWire(recommended, age, effort.days));
  const report = { impressions: 10, bytes: await weighReport(10) };
  const results = { run, redisVersion, memory, fragmentation, costs, wire, report };
  const tables = tablesOf(results);
  console.log(Object.values(tables).join("\n\n"));
  if (values.readme === true) await writeTables(tables, ["docs/scale.md"]);
}

/** Measures in a new Redis, so that deleted data does not count. */
async function memoryOf(sizes: Sizes, age: Age): Promise<UserMemory> {
  print(`memory: ${age.name}`);
  return withMaster((master) => fill(master, sizes, age, effort.users));
}

/** Updates and reads full chains of all users. The fragmentation is measured at the end. */
async function loadRedis(sizes: Sizes): Promise<Pick<ScaleResults, "costs" | "fragmentation" | "redisVersion">> {
  print("operations: filling Redis");
  return withMaster(async (master) => {
    await fill(master, sizes, FULL, effort.users);
    return withReplica(master, async () => {
      const costs = await measureOperations(master, sizes, effort, print);
      const info = await infoOf(master.node);
      const fragmentation = numberIn(info, "allocator_active") / numberIn(info, "allocator_allocated");
      return { costs, fragmentation, redisVersion: info.get("redis_version") ?? "" };
    });
  });
}

// The servers end when this process exits, and it exits in order.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
await main();
