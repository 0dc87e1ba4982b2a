/** The programs that the project needs from the system: their paths, and how to install them. */
import { spawnSync } from "node:child_process";
import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

import { goBloom, goXxhash, guavaJar, lz4Jar } from "./servers.mjs";

/**
 * @typedef {object} Program
 * @property {() => string | undefined} find The program's path.
 * @property {string} apt The Debian packages with it.
 * @property {string} elsewhere How to install it on another system.
 */

/**
 * Returns the path of the first of these programs that is on PATH.
 * @param {...string} names
 * @returns {string | undefined}
 */
export function which(...names) {
  const endings = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  for (const name of names) {
    for (const directory of (process.env.PATH ?? "").split(delimiter)) {
      for (const ending of endings) {
        const path = join(directory, name + ending);
        if (isExecutable(path)) return path;
      }
    }
  }
  return undefined;
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Finds WebKitGTK's MiniBrowser, next to the library, in a directory named after the architecture and the API's
 * version.
 */
function findMiniBrowser() {
  for (const library of ["/usr/lib", "/usr/lib64", "/usr/libexec"]) {
    for (const directory of [library, ...entries(library).map((name) => join(library, name))]) {
      const versions = entries(directory).filter((name) => /^webkit2?gtk-\d/.test(name));
      for (const version of versions.sort().reverse()) {
        const path = join(directory, version, "MiniBrowser");
        if (isExecutable(path)) return path;
      }
    }
  }
  return undefined;
}

/** Finds a Python that can make environments, which is a package of its own on Debian. */
function findPython() {
  const python = which("python3");
  const answer = python && spawnSync(python, ["-c", "import ensurepip, venv"], { stdio: "ignore" });
  return answer && answer.status === 0 ? python : undefined;
}

/** Returns the path of pkg-config, if it finds a library. @param {string} library */
function pkgConfigWith(library) {
  const pkgConfig = which("pkg-config");
  const answer = pkgConfig && spawnSync(pkgConfig, ["--exists", library], { stdio: "ignore" });
  return answer && answer.status === 0 ? pkgConfig : undefined;
}

/** @param {string} directory */
function entries(directory) {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

export const programs = /** @satisfies {Record<string, Program>} */ ({
  compiler: {
    find: () => which("cc", "gcc", "clang", "cl"),
    apt: "build-essential",
    elsewhere: "a C compiler and linker (Xcode's command-line tools, Visual Studio's build tools, or gcc)",
  },
  chromium: {
    find: () => which("chromium", "chromium-browser", "google-chrome"),
    apt: "chromium",
    elsewhere: "Chromium as `chromium` on PATH",
  },
  firefox: {
    find: () => which("firefox-esr", "firefox"),
    apt: "firefox-esr",
    elsewhere: "Firefox as `firefox` on PATH",
  },
  redis: {
    find: () => which("redis-server"),
    apt: "redis-server",
    elsewhere: "Redis 6.2 or newer, with `redis-server` on PATH",
  },
  prometheus: {
    find: () => which("prometheus"),
    apt: "prometheus",
    elsewhere: "Prometheus as `prometheus` on PATH",
  },
  promtool: {
    find: () => which("promtool"),
    apt: "prometheus",
    elsewhere: "Prometheus's `promtool` on PATH",
  },
  webkitDriver: {
    find: () => which("WebKitWebDriver"),
    apt: "webkit2gtk-driver",
    elsewhere: "WebKitGTK's WebDriver as `WebKitWebDriver` on PATH (it exists for Linux)",
  },
  webkitBrowser: {
    find: findMiniBrowser,
    apt: "webkit2gtk-driver",
    elsewhere: "WebKitGTK's MiniBrowser",
  },
  webkitLibrary: {
    find: () => pkgConfigWith("webkit2gtk-4.1"),
    apt: "pkg-config libwebkit2gtk-4.1-dev",
    elsewhere: "the headers of WebKitGTK's API 4.1, which pkg-config finds",
  },
  xvfb: {
    find: () => which("xvfb-run"),
    apt: "xvfb xauth",
    elsewhere: "Xvfb with its `xvfb-run` on PATH",
  },
  xauth: {
    find: () => which("xauth"),
    apt: "xauth",
    elsewhere: "`xauth` on PATH",
  },
  valgrind: {
    find: () => which("valgrind"),
    apt: "valgrind",
    elsewhere: "Valgrind as `valgrind` on PATH (it exists for Linux)",
  },
  go: {
    find: () => which("go"),
    apt: "golang-go",
    elsewhere: "Go 1.19 or newer as `go` on PATH",
  },
  goBloom: {
    find: goBloom,
    apt: "golang-github-willf-bloom-dev",
    elsewhere: "the Go library github.com/bits-and-blooms/bloom/v3, with what it needs, in GOPATH's src",
  },
  goXxhash: {
    find: goXxhash,
    apt: "golang-github-cespare-xxhash-dev",
    elsewhere: "the Go library github.com/cespare/xxhash/v2 in GOPATH's src",
  },
  librdkafka: {
    find: () => which("g++") && which("make") && pkgConfigWith("openssl"),
    apt: "build-essential pkg-config libssl-dev",
    elsewhere: "a C++ compiler, make, pkg-config and OpenSSL's headers, of which cargo compiles librdkafka",
  },
  jre: {
    find: () => which("java"),
    apt: "default-jre-headless",
    elsewhere: "Java 17 or newer as `java` on PATH",
  },
  java: {
    find: () => which("javac"),
    apt: "default-jdk-headless",
    elsewhere: "a JDK, 17 or newer, with `javac` and `java` on PATH",
  },
  maven: {
    find: () => which("mvn"),
    apt: "maven",
    elsewhere: "Maven as `mvn` on PATH",
  },
  guava: {
    find: guavaJar,
    apt: "libguava-java",
    elsewhere: "Guava 31 or newer, its jar named by GUAVA_JAR",
  },
  lz4: {
    find: lz4Jar,
    apt: "liblz4-java",
    elsewhere: "lz4-java, its jar named by LZ4_JAR",
  },
  kcat: {
    find: () => which("kcat", "kafkacat"),
    apt: "kcat",
    elsewhere: "kcat 1.7 or newer as `kcat` on PATH",
  },
  cmake: {
    find: () => which("cmake"),
    apt: "cmake",
    elsewhere: "CMake as `cmake` on PATH",
  },
  dpkg: {
    find: () => which("dpkg-deb"),
    apt: "dpkg",
    elsewhere: "Debian's `dpkg-deb` on PATH",
  },
  umoci: {
    find: () => which("umoci"),
    apt: "umoci",
    elsewhere: "umoci 0.4.7 or newer as `umoci` on PATH",
  },
  python: {
    find: findPython,
    apt: "python3 python3-venv",
    elsewhere: "Python 3.10 or newer as `python3` on PATH, with its module venv",
  },
});

/**
 * The programs that a step of `npm test` declares: others are not found, so that an undeclared use fails everywhere.
 */
const named = process.env.SEENGUARD_PROGRAMS?.split(",");
for (const [name, program] of Object.entries(programs)) {
  if (named?.includes(name) === false) Object.assign(program, { find: () => undefined });
}

/**
 * Chromium's arguments in tests: as root it has no sandbox, in containers it has little shared memory, and background
 * network requests are off.
 */
export const chromiumArguments = /** @type {const} */ ([
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
]);
