/**
 * Runs the Rust benchmark and reads what criterion kept of it: many short turns of each contender, one after the other.
 */
import { readdirSync, readFileSync } from "node:fs";
import { inProject } from "../scripts/lib/paths.mjs";
import { run } from "../scripts/lib/run.mjs";
import type { Measured } from "./measure.ts";
import { spreadOf } from "./statistics.ts";

/** As benches/fastbloom.rs calls them, with a turn's number behind. */
const CONTENDERS = { guard: "Guard", fastbloom: "fastbloom", "fastbloom-hashed-once": "fastbloom, hashed once" };
const GROUP = "filter-2000";

export async function measureRust({ warmUpSeconds, seconds }: Record<"warmUpSeconds" | "seconds", number>) {
  const times = ["--warm-up-time", String(warmUpSeconds), "--measurement-time", String(seconds), "--sample-size", "10"];
  await run("cargo", ["bench", "--bench", "fastbloom", "--", ...times, "--noplot"]);
  const [guard = []] = Object.keys(CONTENDERS).map(mediansOf);
  return Object.entries(CONTENDERS).map(([key, name]): Measured => {
    const medians = mediansOf(key);
    if (medians.length !== guard.length) throw new Error(`criterion left ${String(medians.length)} turns of ${name}`);
    const ratios = medians.map((median, turn) => (guard[turn] ?? NaN) / median);
    return { name, ms: spreadOf(medians), ratio: spreadOf(ratios) };
  });
}

/** Milliseconds, one a turn. */
function mediansOf(key: string): number[] {
  const turns = readdirSync(inProject("target", "criterion", GROUP)).filter(
    (name) => name.startsWith(`${key}-`) && /^\d+$/.test(name.slice(key.length + 1)),
  );
  return turns.sort().map((turn) => {
    const path = inProject("target", "criterion", GROUP, turn, "new", "estimates.json");
    const { median } = JSON.parse(readFileSync(path, "utf8")) as { median: { point_estimate: number } };
    return median.point_estimate / 1e6;
  });
}
