/**
 * Recorded numbers that may grow only slightly: they are in a file, a step of `npm test` compares them, and an intended
 * growth is recorded again.
 */
import { readFileSync } from "node:fs";
import { writeWhole } from "./files.mjs";
import { CommandFailed } from "./run.mjs";

/**
 * @typedef {object} Budget
 * @property {string} tool The tool on which the numbers depend: a compiler with its version.
 * @property {Readonly<Record<string, number>>} numbers
 */

/**
 * @param {string} path
 * @returns {Budget}
 */
export function readBudget(path) {
  /** @type {Budget} */
  const budget = JSON.parse(readFileSync(path, "utf8"));
  return budget;
}

/**
 * @param {string} path
 * @param {Budget} budget
 */
export function writeBudget(path, budget) {
  writeWhole(path, `${JSON.stringify(budget, undefined, 2)}\n`);
  console.log(`recorded in ${path}; review the difference, and commit it with the reason`);
}

/**
 * Prints a table. Rejects a number that grew by more than `growth`, one that is not recorded yet, and a recorded one
 * that was not measured.
 * @param {object} comparison
 * @param {Readonly<Record<string, number>>} comparison.before
 * @param {Readonly<Record<string, number>>} comparison.now
 * @param {number} comparison.growth 0.05: by a twentieth
 * @param {string} comparison.unit
 * @param {string} comparison.update the command that writes the new numbers
 */
export function compare({ before, now, growth, unit, update }) {
  /** @type {string[]} */
  const wrong = [];
  for (const name of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const [old, found] = [before[name], now[name]];
    if (found === undefined) wrong.push(`${name} is written down, but was not found`);
    else if (old === undefined) wrong.push(`${name} (${String(found)} ${unit}) is not written down yet`);
    else {
      const change = `${String(old)} → ${String(found)} ${unit} (${percent(found / old - 1)})`;
      console.log(`${name.padEnd(28)}${change}`);
      if (found > old * (1 + growth)) wrong.push(`${name} grew: ${change}, ${percent(growth)} is allowed`);
      // An unnoticed decrease would hide a later increase.
      else if (found < old * (1 - growth)) console.log(`  it shrank: record that by \`${update}\``);
    }
  }
  if (wrong.length > 0) {
    throw new CommandFailed(
      `${wrong.join("\n")}\nIf it is meant to be so: ${update}, and commit the file with the reason.`,
    );
  }
}

/** @param {number} share */
const percent = (share) => `${share >= 0 ? "+" : ""}${(share * 100).toFixed(1)}%`;
