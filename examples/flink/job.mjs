/** The job's jar: compiled by javac, with the scripts that it shares with `redisStore`. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inProject } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { flinkJars } from "../../scripts/lib/servers.mjs";

export const jobClass = "seenguard.flink.SeenJob";
const sources = inProject("examples", "flink", "src", "seenguard", "flink");
const scripts = inProject("src", "redis");

/**
 * Compiles Java for the job's class path; a warning is an error.
 * @param {string} classes the directory for the classes
 * @param {readonly string[]} files
 */
export async function compile(classes, files) {
  rmSync(classes, { recursive: true, force: true });
  mkdirSync(classes, { recursive: true });
  const flags = ["-encoding", "UTF-8", "--release", "17", "-proc:none", "-Werror"];
  // Flink's jars refer to annotations that are not in them.
  const lint = "-Xlint:all,-classfile,-path";
  await run("javac", [...flags, lint, "-cp", flinkJars(), "-d", classes, ...files]);
}

/** @returns {string[]} */
export const jobSources = () =>
  readdirSync(sources)
    .filter((name) => name.endsWith(".java"))
    .map((name) => join(sources, name));

/** Builds the jar into target/. Returns its path. */
export async function buildJob() {
  const classes = inProject("target", "flink", "classes");
  const jar = inProject("target", "flink", "seenguard-flink.jar");
  await compile(classes, jobSources());
  const files = [
    "-C",
    classes,
    ".",
    ...["run", "keep", "load", "replace"].flatMap((name) => ["-C", scripts, `${name}.lua`]),
  ];
  await run("jar", ["--create", "--file", jar, "--main-class", jobClass, ...files]);
  return jar;
}
