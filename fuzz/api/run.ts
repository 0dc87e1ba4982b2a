/** Runs properties for a share of the time, from one seed, and says what was run, so that a failure can be repeated. */
import fc from "fast-check";
import { test } from "vitest";

/** What part of the time each property has. */
const SHARES = {
  "strange arguments": 3,
  "re-entrant callbacks": 3,
  "filling a feed": 2,
  "several tabs": 4,
  "lying storages": 3,
  "a chain": 3,
  "a store in Redis": 1,
  "near-duplicates": 1,
} as const;

type PropertyName = keyof typeof SHARES;

const SECONDS = Number(process.env.SEENGUARD_FUZZ_SECONDS ?? 20);
const SEED = Number(process.env.SEENGUARD_FUZZ_SEED ?? Date.now()) | 0;
/** Of a failure that is to be repeated: `path` in what fast-check has printed. */
const PATH = process.env.SEENGUARD_FUZZ_PATH;
/** For what a program waits for: none of them takes so long. */
const PATIENCE_MS = 60_000;

const allShares = Object.values(SHARES).reduce((sum, share) => sum + share, 0);

let commands = 0;

/** A program has run so many commands. */
export function countCommands(count = 1): void {
  commands += count;
}

/** A test that runs programs for its share of the time. */
export function fuzz<T extends unknown[]>(name: PropertyName, property: () => fc.IAsyncProperty<T>): void {
  const timeMs = (1000 * SECONDS * SHARES[name]) / allShares;
  test(name, { timeout: timeMs + PATIENCE_MS }, async () => {
    const startMs = performance.now();
    commands = 0;
    const details = await fc.check(property(), {
      seed: SEED,
      ...(PATH !== undefined && { path: PATH }),
      numRuns: Number.MAX_SAFE_INTEGER,
      interruptAfterTimeLimit: timeMs,
      markInterruptAsFailure: false,
      includeErrorInReport: true,
    });
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    const megabytes = String(Math.round(process.resourceUsage().maxRSS / 1024));
    const counts = `${String(details.numRuns)} programs, ${String(commands)} commands in ${seconds} s, ${megabytes} MB`;
    console.log(`fuzz-api: ${name}: seed ${String(SEED)}, ${counts}`);
    if (details.failed) throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance });
    if (details.numRuns === 0) throw new Error("no program was run");
  });
}
