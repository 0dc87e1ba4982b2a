/**
 * Runs the fuzz targets: `node lab/fuzz/run.mjs [--corpus | --seconds N | --minutes N | --night | --coverage]
 * [--only NAME,NAME]`.
 *
 * --corpus      each input of the corpus once, and no other, by the stable compiler: the step `fuzz`
 * --seconds N   each target for N seconds in one process, the same inputs each time; the default, with 70
 * --minutes N   each target for N minutes in two processes; what is new is merged into the corpus, whose archive is
 *               written again, and lab/fuzz/RECORD.md gets the figures
 * --night       the same for 8 hours in all
 * --coverage    which lines of src/ the corpus reaches: into lab/fuzz/RECORD.md, too
 *
 * A target that fails leaves its input in lab/fuzz/artifacts/.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { inProject } from "../../scripts/lib/paths.mjs";
import { CommandFailed, run } from "../../scripts/lib/run.mjs";
import { writeTables } from "../../scripts/lib/tables.mjs";
import { main, setUp } from "../../scripts/setup.mjs";
import { checkCorpusSize, corpusOf, pack, unpack } from "./tools/corpus.mjs";
import { coverage } from "./tools/coverage.mjs";
import { fuzzProcess, libFuzzer } from "./tools/process.mjs";
import { build, buildPlain, setUpFuzzing } from "./tools/toolchain.mjs";

/** Longest inputs, in bytes. A longer one finds no more, and takes longer. */
const longest = /** @type {const} */ ({ snapshots: 8192, rows: 8192, writers: 4096 });
const targets = /** @type {(keyof typeof longest)[]} */ (Object.keys(longest));

/** No input may take more memory; the largest snapshot and all that judges it take a third of it. */
const MOST_MEGABYTES = 1024;
/** No input may take longer: minutes, since a busy machine takes a hundred times as long as a quiet one. */
const MOST_SECONDS_AN_INPUT = 120;
/** Processes of a run that is not a test. */
const JOBS = 2;

const workOf = (/** @type {string} */ target) => inProject("lab", "fuzz", "runs", target);

/**
 * @typedef {object} Figures of one target
 * @property {string} target
 * @property {number} jobs
 * @property {number} seconds
 * @property {number} inputs
 * @property {number} megabytes the most that a process took
 */

/**
 * Fuzzes one target. What it finds new goes into a directory of its own: the corpus changes by `keepNew` alone. A test
 * keeps nothing, and tries the same inputs each time, as many as there is time for. (Nearly so in `snapshots`: what some
 * inputs reach depends on where the stack lies.) To find something is what the other runs are for.
 * @param {string} binary
 * @param {keyof typeof longest} target
 * @param {number} seconds
 * @param {boolean} isTest
 * @returns {Promise<Figures>}
 */
async function fuzz(binary, target, seconds, isTest) {
  const artifacts = inProject("lab", "fuzz", "artifacts", target);
  for (const directory of [artifacts, workOf(target)]) mkdirSync(directory, { recursive: true });
  const corpus = readdirSync(corpusOf(target)).sort();
  const list = `${workOf(target)}.txt`;
  writeFileSync(list, corpus.map((name) => join(corpusOf(target), name)).join(","));
  const args = [
    `-max_total_time=${seconds}`,
    // In this order, while that of a directory's listing is the file system's.
    `-seed_inputs=@${list}`,
    `-max_len=${longest[target]}`,
    `-rss_limit_mb=${MOST_MEGABYTES}`,
    `-timeout=${MOST_SECONDS_AN_INPUT}`,
    `-artifact_prefix=${artifacts}/`,
    // Structured inputs grow faster than raw bytes should.
    "-len_control=20",
    "-print_final_stats=1",
    // Compared values may be addresses, which differ each time.
    ...(isTest ? ["-seed=1", "-use_cmp=0"] : [workOf(target)]),
  ];
  const jobs = isTest ? 1 : JOBS;
  const started = Date.now();
  const processes = await Promise.all(Array.from({ length: jobs }, () => fuzzProcess(binary, args)));
  const sum = (/** @type {number[]} */ numbers) => numbers.reduce((total, number) => total + number, 0);
  return {
    target,
    jobs,
    seconds: (Date.now() - started) / 1000,
    inputs: sum(processes.map(({ inputs }) => inputs)),
    megabytes: Math.max(...processes.map(({ megabytes }) => megabytes)),
  };
}

/**
 * Makes the corpus the smallest set of inputs that reaches as much as what there was and what was found, and packs it.
 * @param {string} binary
 * @param {keyof typeof longest} target
 */
async function keepNew(binary, target) {
  const merged = `${workOf(target)}-merged`;
  rmSync(merged, { recursive: true, force: true });
  mkdirSync(merged, { recursive: true });
  await run(binary, ["-set_cover_merge=1", `-max_len=${longest[target]}`, merged, corpusOf(target), workOf(target)]);
  rmSync(corpusOf(target), { recursive: true });
  cpSync(merged, corpusOf(target), { recursive: true });
  rmSync(merged, { recursive: true });
  await pack(target);
}

/**
 * Each target with what its corpus has. What fails is one of its inputs.
 * @param {readonly (keyof typeof longest)[]} chosen
 */
async function runCorpus(chosen) {
  const binary = await buildPlain();
  for (const target of chosen) {
    const directory = corpusOf(target);
    const inputs = readdirSync(directory).sort();
    if (inputs.length === 0) throw new CommandFailed(`the corpus of ${target} is empty`);
    console.log(`${target}: ${inputs.length} inputs`);
    const limits = [`-rss_limit_mb=${MOST_MEGABYTES}`, `-timeout=${MOST_SECONDS_AN_INPUT}`];
    await libFuzzer(binary(target), [...limits, ...inputs], directory);
  }
  checkCorpusSize();
}

/** @param {readonly Figures[]} all */
function table(all) {
  const lines = all.map(({ target, jobs, seconds, inputs, megabytes }) => {
    const minutes = `${jobs} × ${(seconds / 60).toFixed(1)}`;
    const corpus = readdirSync(corpusOf(target)).length;
    const figures = [minutes, inputs.toLocaleString("en"), (inputs / seconds).toFixed(0), `${megabytes} MB`, corpus];
    return `| \`${target}\` | ${figures.join(" | ")} |`;
  });
  return [
    "| target | processes × minutes | inputs | inputs a second | peak memory of a process | corpus |",
    "| --- | --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}

/**
 * Each target for so long, one after the other.
 * @param {readonly (keyof typeof longest)[]} chosen
 * @param {number} seconds
 * @param {boolean} isTest
 */
async function fuzzAll(chosen, seconds, isTest) {
  const binary = await build();
  /** @type {Figures[]} */
  const all = [];
  for (const target of chosen) {
    console.log(`\n${target}: ${seconds} s`);
    all.push(await fuzz(binary(target), target, seconds, isTest));
    if (!isTest) await keepNew(binary(target), target);
  }
  const figures = table(all);
  console.log(`\n${figures}`);
  if (!isTest) await writeTables({ "fuzz-targets": figures }, ["lab/fuzz/RECORD.md"]);
  checkCorpusSize();
}

/** @param {readonly string[]} args */
async function fuzzTargets(args) {
  const options = /** @type {const} */ ({
    corpus: { type: "boolean" },
    seconds: { type: "string" },
    minutes: { type: "string" },
    night: { type: "boolean" },
    coverage: { type: "boolean" },
    only: { type: "string" },
  });
  const { values } = parseArgs({ args: [...args], options });
  const names = values.only?.split(",") ?? targets;
  const chosen = targets.filter((target) => names.includes(target));
  const unknown = names.filter((name) => !targets.some((target) => target === name));
  if (unknown.length > 0) throw new CommandFailed(`no such target: ${unknown.join(", ")}; ${targets.join(", ")}`);
  await setUp();
  for (const target of chosen) await unpack(target);
  if (values.corpus) return runCorpus(chosen);
  await setUpFuzzing();
  if (values.coverage) return coverage(chosen);
  const NIGHT_SECONDS = 8 * 3600;
  if (values.night) return fuzzAll(chosen, Math.round(NIGHT_SECONDS / chosen.length), false);
  if (values.minutes !== undefined) return fuzzAll(chosen, Number(values.minutes) * 60, false);
  return fuzzAll(chosen, Number(values.seconds ?? 70), true);
}

await main(() => fuzzTargets(process.argv.slice(2)));
