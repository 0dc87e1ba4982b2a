/**
 * Tabs of one profile over working, slow, failing and lying storage: each tab knows after its next load what storage
 * has completed, a page that hides saves all its changes, nothing that was cleared is written, sent or returned, and
 * nothing waits or runs forever. `SEENGUARD_MUTANTS=all` tries the mutants of mutants.ts instead, or one by its name.
 */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { mutants } from "./mutants.js";
import { bundlePackage } from "./package.js";
import { runPrograms, SEED } from "./programs.js";
import { storageProperty } from "./storage-programs.js";

/** As many as `npm test` runs. */
const PROGRAMS = 2_000;
const wanted = process.env.SEENGUARD_MUTANTS;

if (wanted === undefined) {
  let property: Awaited<ReturnType<typeof storageProperty>>;
  beforeAll(async () => {
    property = await storageProperty(await bundlePackage());
  });
  runPrograms("storage", () => property);
} else
  for (const [name, mutant] of Object.entries(mutants).filter(([name]) => [name, "all"].includes(wanted)))
    test(`finds that ${name}`, { timeout: 600_000 }, async () => {
      const property = await storageProperty(await bundlePackage(mutant));
      const { failed, numRuns, errorInstance } = await fc.check(property, {
        ...{ seed: SEED, numRuns: PROGRAMS, endOnFailure: true },
      });
      const violation = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
      console.log(`| ${name} | ${failed ? `${String(numRuns)}: ${violation}` : "not found"} |`);
      expect(failed).toBe(true);
    });
