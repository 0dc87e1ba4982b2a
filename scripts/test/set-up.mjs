/** Steps that install missing requirements of the chosen steps: they run before them and next to all others. */
import { existsSync } from "node:fs";
import { kafkaJars } from "../lib/kafka.mjs";
import { npmCi, npmIsThere } from "../lib/npm.mjs";
import { root } from "../lib/paths.mjs";
import { programs } from "../lib/programs.mjs";
import { findCargoTool, wasmBindgenTool } from "../lib/rust.mjs";
import { pythonStamp } from "../lib/servers.mjs";
import { brokerJars, cargoTool, missingPrograms, pythonPackages, systemPrograms } from "../setup.mjs";

/** @typedef {import("./steps.mjs").Step} Step */

/** A part of it: for which steps it is. @typedef {Step & { isFor: (step: Step) => boolean }} Part */

/**
 * The steps with the parts of set-up that are left to do, each before the first one that needs it; those of the lowest
 * priority before all.
 * @param {readonly Step[]} chosen
 * @returns {Promise<Step[]>}
 */
export async function withSetUp(chosen) {
  const parts = await partsFor(chosen);
  const inBackground = parts.filter(({ low }) => low);
  const listed = new Set(inBackground);
  const others = chosen.flatMap((step) => {
    const needed = parts.filter((part) => part.isFor(step));
    const first = needed.filter((part) => !listed.has(part));
    for (const part of first) listed.add(part);
    return [...first, { ...step, needs: [...needed.map(({ name }) => name), ...(step.needs ?? [])] }];
  });
  return [...inBackground, ...others];
}

/** @param {readonly Step[]} chosen @returns {Promise<Part[]>} */
async function partsFor(chosen) {
  const lacking = missingPrograms([...new Set(chosen.flatMap(({ programs = [] }) => programs))]);
  /** @type {import("../lib/rust.mjs").CargoTool[]} */
  const tools = [];
  for (const tool of new Set(chosen.flatMap(({ tools = [] }) => tools)))
    if ((await findCargoTool(tool)) === undefined) tools.push(tool);
  const parts = tools.map(
    /** @returns {Part} */ (tool) => ({
      name: tool.binary,
      what: `cargo builds ${tool.binary} ${tool.version}`,
      run: () => cargoTool(tool),
      isFor: (step) => step.tools?.includes(tool) === true,
      makesFiles: true,
      // Minutes of a processor, for a step that may run last.
      ...(tool === wasmBindgenTool ? {} : { low: true }),
    }),
  );
  if (!npmIsThere(root))
    parts.push({
      name: "npm-packages",
      what: "the development dependencies",
      run: () => npmCi(root, "the development dependencies"),
      isFor: ({ name, needs }) => name === "build" || needs?.includes("build") === true,
      makesFiles: true,
    });
  if (lacking.length > 0)
    parts.push({
      name: "system-programs",
      what: "programs of the system",
      run: () => systemPrograms(lacking),
      isFor: (step) => step.programs?.some((program) => lacking.includes(program)) === true,
      makesFiles: true,
    });
  if (!existsSync(pythonStamp()))
    parts.push({
      name: "python-packages",
      what: "the packages of Python",
      run: pythonPackages,
      needs: lacking.includes(programs.python) ? ["system-programs"] : [],
      isFor: ({ python }) => python === true,
      makesFiles: true,
    });
  if (!existsSync(kafkaJars()))
    parts.push({
      name: "broker-jars",
      what: "the jars of a Kafka broker, by Maven",
      run: brokerJars,
      needs: lacking.includes(programs.maven) ? ["system-programs"] : [],
      isFor: ({ broker }) => broker === true,
      makesFiles: true,
    });
  return parts;
}
