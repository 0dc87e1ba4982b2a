/** What the installed package costs: the tarball, and an app as each bundler makes it by itself. */
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { build as buildByVite, createLogger, type Rolldown } from "vite";
import { describe, expect, inject, test } from "vitest";
import webpack from "webpack";

const installed = (...path: string[]) => join(inject("installed"), ...path);

/** A file of an app's bundle, and what is in it. */
interface Bundle {
  /** Scripts that the bundler made. */
  readonly scripts: number;
  /** Files of the package in them. */
  readonly files: readonly string[];
  /** What the bundler said. */
  readonly warnings: readonly string[];
}

interface Bundler {
  readonly name: string;
  readonly bundle: (entry: string) => Promise<Bundle>;
}

/** All that make one file of an app, as they are told to. */
const intoOneFile: readonly Bundler[] = [
  { name: "esbuild without splitting", bundle: (entry) => byEsbuild(entry, "esm") },
  { name: "esbuild as a script", bundle: (entry) => byEsbuild(entry, "iife") },
  { name: "Vite as a script", bundle: (entry) => byVite(entry, { format: "iife" }) },
  { name: "Vite with one chunk", bundle: (entry) => byVite(entry, { codeSplitting: false }) },
  { name: "webpack with one chunk", bundle: (entry) => byWebpack(entry, 1) },
];

const asTheyAre: readonly Bundler[] = [
  { name: "esbuild", bundle: (entry) => byEsbuild(entry, "esm") },
  { name: "Vite", bundle: (entry) => byVite(entry, {}) },
  { name: "webpack", bundle: (entry) => byWebpack(entry) },
];

const page = (options: string) => `
  import { SeenGuard } from "seenguard";
  SeenGuard.open({ ${options} }).then((guard) => console.log(guard.stats()));`;
const PAGE = page('namespace: "home:ada"');
const PAGE_WITH_FALLBACK = page('namespace: "home:ada", fallback: () => import("seenguard/engine-js")');

const enginesOf = ({ files }: Bundle) => files.filter((file) => /-wasm\.|engine-js/.test(file));

describe.each(intoOneFile)("a page in one file, by $name", ({ bundle }) => {
  test("has one engine", async () => {
    const bundled = await bundle(await appOf(PAGE));
    expect(bundled.scripts).toBe(1);
    expect(enginesOf(bundled)).toEqual(["client-wasm.js"]);
  });

  test("has the one that it asks for, too, and no other", async () => {
    const bundled = await bundle(await appOf(PAGE_WITH_FALLBACK));
    expect(bundled.scripts).toBe(1);
    expect(enginesOf(bundled)).toEqual(["client-wasm.js", "engine-js.js"]);
  });
});

test.each(asTheyAre)("$name warns of nothing in a page with the package", async ({ bundle }) => {
  expect((await bundle(await appOf(PAGE))).warnings).toEqual([]);
});
