/** The steps of `npm test -- --rule NAME`: the tests of one rule, which is a folder of tests/, wherever they run. */
import { existsSync, readdirSync } from "node:fs";
import { inProject } from "../lib/paths.mjs";
import { CommandFailed, run } from "../lib/run.mjs";
import { playwright, steps, vitest } from "./steps.mjs";

/** @typedef {import("./steps.mjs").Step} Step */

/**
 * @param {string} rule
 * @returns {Step[]} with those that build what they need
 */
export function stepsOfRule(rule) {
  if (!existsSync(inProject("tests", rule))) {
    const rules = readdirSync(inProject("tests")).filter((name) => !name.includes("."));
    throw new CommandFailed(`no such rule: ${rule}; there are ${rules.join(", ")}`);
  }
  const names = readdirSync(inProject("tests", rule), { recursive: true }).map(String);
  const has = (/** @type {RegExp} */ ending) => names.some((name) => ending.test(name));
  // A folder in it may have a step of its own.
  const inNode = [...names, rule, "node", "node-slow", ...(has(/\.engines\.test\.ts$/) ? ["engines"] : [])];
  const [node, chromium] = [() => vitest(`tests/${rule}/`), () => playwright(`tests/${rule}/`)];
  return [
    ...steps.filter(({ name }) => ["modules", "build"].includes(name)),
    ...(has(/(?<!\.wasm)\.rs$/) ? [rustStep(rule, names)] : []),
    ...(has(/\.wasm\.rs$/) ? steps.filter(({ name }) => name === "wasm-node") : []),
    ...(has(/\.test\.tsx?$/) ? [{ ...machineOf(inNode), ...titled(rule, "node"), lane: "cargo", run: node }] : []),
    ...(has(/\.spec\.ts$/) ? [{ ...machineOf([rule, "chromium"]), ...titled(rule, "chromium"), run: chromium }] : []),
  ];
}

/**
 * A step by its name, which names the rule if it is a rule's.
 * @param {string} name
 */
export function findStep(name) {
  const isNamed = (/** @type {Step} */ step) => step.name === name;
  const [, rule] = /^(.+)-(?:rust|node|chromium)$/.exec(name) ?? [];
  return steps.find(isNamed) ?? (rule === undefined ? undefined : stepsOfRule(rule).find(isNamed));
}

/** @param {string} rule @param {string} place */
const titled = (rule, place) => ({ name: `${rule}-${place}`, what: `tests/${rule}, those for ${place}` });

/**
 * The rule's module in the core and in the core's tests; and each program of its own.
 * @param {string} rule
 * @param {readonly string[]} names of its files
 * @returns {Step}
 */
function rustStep(rule, names) {
  const programs = names.flatMap((name) => /^(\w+)\.rs$/.exec(name)?.[1] ?? []);
  return {
    ...titled(rule, "rust"),
    lane: "cargo",
    run: async () => {
      await run("cargo", ["test", "--lib", "--test", "core", `${rule.replaceAll("-", "_")}::`]);
      if (programs.length > 0) await run("cargo", ["test", ...programs.flatMap((name) => ["--test", name])]);
    },
  };
}

/**
 * What these steps need of the machine.
 * @param {readonly string[]} names of steps; others are left out
 * @returns {Pick<Step, "programs" | "tools" | "python" | "broker" | "needs">}
 */
function machineOf(names) {
  const chosen = steps.filter(({ name }) => names.includes(name));
  return {
    programs: [...new Set(chosen.flatMap(({ programs = [] }) => programs))],
    tools: [...new Set(chosen.flatMap(({ tools = [] }) => tools))],
    needs: ["build"],
    ...(chosen.some(({ python }) => python) ? { python: true } : {}),
    ...(chosen.some(({ broker }) => broker) ? { broker: true } : {}),
  };
}
