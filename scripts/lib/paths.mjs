/** Paths in the project and in the user's cache. */
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's directory, without a slash at the end. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[/\\]$/, "");

/** @param {...string} parts */
export const inProject = (...parts) => join(root, ...parts);

/** An environment variable, if it is set and not empty. @param {string} name */
export const fromEnvironment = (name) => (process.env[name] === "" ? undefined : process.env[name]);

const cache = fromEnvironment("XDG_CACHE_HOME") ?? join(homedir(), ".cache");

/** The directory of command-line tools that cargo builds only for this project: `<crate>-<version>/bin`. */
export const toolDirectory = join(cache, "seenguard", "tools");
