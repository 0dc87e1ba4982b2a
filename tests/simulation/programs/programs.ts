/** Runs programs for a share of the time, from one seed, and prints what it ran, so that a failure can be repeated. */
import fc from "fast-check";
import { test } from "vitest";

/** Of each property: how many programs a test runs, and its share of the time of a run. */
const PROPERTIES = {
  "strange arguments": { programs: 400, share: 3 },
  "re-entrant callbacks": { programs: 600, share: 3 },
  "filling a feed": { programs: 200, share: 2 },
  storage: { programs: 2_000, share: 7 },
} as const;

type PropertyName = keyof typeof PROPERTIES;

/** Of a long run; undefined: this is a test. */
const SECONDS = process.env.SEENGUARD_PROGRAMS_SECONDS;
/** A test runs the same programs each time; run.mjs looks for new ones. */
export const SEED = Number(process.env.SEENGUARD_PROGRAMS_SEED ?? 1) | 0;
/** Of a failure that is to be repeated: `path` in what fast-check has printed. */
const PATH = process.env.SEENGUARD_PROGRAMS_PATH;
/** How many programs a test runs of each property, in place of the number above, for as long as they take. */
const COUNT = process.env.SEENGUARD_PROGRAMS_COUNT;
/** Beyond the time that it has: a busy machine takes a hundred times as long as a quiet one. */
const PATIENCE_MS = 600_000;

const allShares = Object.values(PROPERTIES).reduce((sum, { share }) => sum + share, 0);

/** The time of a property in ms; undefined: as long as its programs take. */
const timeOf = (name: PropertyName) =>
  SECONDS === undefined ? undefined : (1000 * Number(SECONDS) * PROPERTIES[name].share) / allShares;

let commands = 0;

/** A program has run this number of commands. */
export function countCommands(count = 1): void {
  commands += count;
}

/** A test that runs its programs, or as many as there is time for. */
export function runPrograms<T extends unknown[]>(name: PropertyName, property: () => fc.IAsyncProperty<T>): void {
  const timeMs = timeOf(name);
  test(name, { timeout: COUNT === undefined ? (timeMs ?? 0) + PATIENCE_MS : 0 }, async () => {
    const startMs = performance.now();
    commands = 0;
    const details = await fc.check(property(), {
      seed: SEED,
      ...(PATH !== undefined && { path: PATH }),
      ...(timeMs === undefined
        ? { numRuns: Number(COUNT ?? PROPERTIES[name].programs) }
        : { numRuns: Number.MAX_SAFE_INTEGER, plugins: [fc.interruptAfterTimeLimit(timeMs)] }),
      includeErrorInReport: true,
    });
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    const megabytes = String(Math.round(process.resourceUsage().maxRSS / 1024));
    const counts = `${String(details.numRuns)} programs, ${String(commands)} commands in ${seconds} s, ${megabytes} MB`;
    console.log(`programs: ${name}: seed ${String(SEED)}, ${counts}`);
    if (details.failed) throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance });
    if (details.numRuns === 0) throw new Error("no program was run");
  });
}
