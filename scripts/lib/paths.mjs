/** Where things lie: in the project, and in the user's cache. */
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's directory, without a slash at the end. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[/\\]$/, "");

/** @param {...string} parts */
export const inProject = (...parts) => join(root, ...parts);

/** A variable that is set and not empty. @param {string} name */
export const fromEnvironment = (name) => (process.env[name] === "" ? undefined : process.env[name]);

const cache = fromEnvironment("XDG_CACHE_HOME") ?? join(homedir(), ".cache");

/** Where command-line tools are installed that cargo builds for this project alone: `<crate>-<version>/bin`. */
export const toolDirectory = join(cache, "seenguard", "tools");
