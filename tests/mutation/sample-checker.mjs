/** A checker of Stryker that lets a sample of the mutants pass. */
import { sample } from "./sample.mjs";

const COUNT = Number(process.env.SEENGUARD_MUTANTS ?? 200);

/** @typedef {{ id: string, fileName: string, mutatorName: string, replacement: string }} Mutant */

/** @param {Mutant} mutant */
const describe = ({ fileName, mutatorName, replacement }) =>
  `${fileName.replace(/^.*\/js\//, "js/")} ${mutatorName} ${replacement}`;

class SampleChecker {
  /** @type {ReadonlySet<string>} */
  chosen = new Set();

  async init() {}

  /** Stryker calls this once, with all mutants. @param {readonly Mutant[]} mutants */
  group(mutants) {
    this.chosen = new Set(sample(mutants, COUNT, describe).map(({ id }) => id));
    return [mutants.map(({ id }) => id)];
  }

  /** Stryker leaves out what a checker says does not compile. @param {readonly Mutant[]} mutants */
  check(mutants) {
    const left = { status: "compileError", reason: "not in the sample" };
    const results = mutants.map(({ id }) => [id, this.chosen.has(id) ? { status: "passed" } : left]);
    return Promise.resolve(Object.fromEntries(results));
  }
}

export const strykerPlugins = [{ kind: "Checker", name: "sample", injectableClass: SampleChecker }];
