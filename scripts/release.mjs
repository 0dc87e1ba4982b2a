/**
 * Makes a release of the service for x86-64 Linux, in target/release-files/: a static program, a Debian package and an
 * OCI image of it. Nothing is published.
 *
 *     node scripts/release.mjs
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { serverLicenses } from "./build/licenses.mjs";
import { fromEnvironment, inProject, toolDirectory } from "./lib/paths.mjs";
import { programs } from "./lib/programs.mjs";
import { CommandFailed, output, run } from "./lib/run.mjs";
import { main, pythonEnvironmentWith, rustTarget, setUpCompilers, systemPrograms } from "./setup.mjs";

/** The target of static programs, with musl. */
const TARGET = "x86_64-unknown-linux-musl";
/** Kafka over TLS, with C libraries compiled by zig for musl: librdkafka's configure script would use the system's. */
const FEATURES = "kafka-ssl-vendored,rdkafka/cmake-build";

/** zig, a C compiler that includes musl, and its cargo command. */
const zigPackages = ["cargo-zigbuild==0.24.0", "ziglang==0.17.0"];
const zig = join(toolDirectory, "zig-0.17.0");

export const releasePrograms = [programs.cmake, programs.dpkg, programs.python, programs.umoci];

/** The user id of the image's process, used by nothing else. */
const IMAGE_USER = "65532:65532";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const DOCUMENTS = "usr/share/doc/seenguard-server";

const MAINTAINER = "The Seenguard project <seenguard@project.invalid>";
const SUMMARY = "pages of a feed without repeats";

/**
 * @typedef {object} Release
 * @property {string} program a static binary
 * @property {string} debianPackage
 * @property {string} image an OCI layout as a tar archive
 * @property {string} layout the same layout as a directory
 * @property {string} tag the tag of the image in it
 */

/** @returns {Promise<Release>} */
export async function makeRelease() {
  await setUpCompilers();
  await systemPrograms(releasePrograms);
  await rustTarget(TARGET);
  await pythonEnvironmentWith(zig, zigPackages);
  const compiled = await compile();
  const directory = inProject("target", "release-files");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const version = await versionOf(compiled);
  const program = join(directory, `seenguard-server-${version}-x86_64-linux`);
  copyFileSync(compiled, program);
  const copyright = await copyrightText();
  const debianPackage = await makeDebianPackage({ directory, program, version, copyright });
  const image = await makeImage({ directory, program, version, copyright });
  const release = { program, debianPackage, ...image };
  for (const file of [program, debianPackage, image.image])
    console.log(`${file}: ${(statSync(file).size / 2 ** 20).toFixed(1)} MiB`);
  return release;
}

async function compile() {
  const target = fromEnvironment("CARGO_TARGET_DIR") ?? inProject("target");
  const args = ["--release", "--locked", "--package", "seenguard-server", "--target", TARGET, "--features", FEATURES];
  const PATH = [join(zig, "bin"), process.env.PATH ?? ""].join(delimiter);
  // Built by CMake without libcurl, librdkafka 2.12 still includes its header, but uses nothing of it.
  const headers = join(zig, "include", "librdkafka");
  write(join(headers, "curl", "curl.h"), "");
  const env = { PATH, [`CFLAGS_${TARGET.replaceAll("-", "_")}`]: `-I${headers}` };
  await run("cargo", ["zigbuild", ...args], { env });
  return join(target, TARGET, "release", "seenguard-server");
}

/** @param {string} program */
async function versionOf(program) {
  const version = /^seenguard-server (\S+)$/.exec((await output(program, ["--version"])) ?? "")?.[1];
  if (version === undefined) throw new CommandFailed(`${program} does not print its version`);
  return version;
}

/** The project's licence, and those of all code in the program. */
async function copyrightText() {
  const texts = ["LICENSE-MIT", "LICENSE-APACHE"].map((name) => readFileSync(inProject(name), "utf8"));
  const packages = join(zig, "lib", await pythonVersion(), "site-packages", "ziglang", "lib");
  const libraries = [
    { name: "musl", version: "", license: "MIT", file: join(packages, "libc", "musl", "COPYRIGHT") },
    {
      name: "libunwind",
      version: "",
      license: "Apache-2.0 WITH LLVM-exception",
      file: join(packages, "libunwind", "LICENSE.TXT"),
    },
  ].map(({ file, ...part }) => ({ ...part, what: "linked", text: readFileSync(file, "utf8").trim() }));
  const others = await serverLicenses(["--target", TARGET, "--features", FEATURES], libraries);
  return [
    "Seenguard is offered under the MIT licence or the Apache License 2.0, at your option.",
    ...texts,
    others,
  ].join("\n\n");
}

async function pythonVersion() {
  const version = await output(join(zig, "bin", "python"), [
    "-c",
    "import sys; print('python%d.%d' % sys.version_info[:2])",
  ]);
  if (version === undefined) throw new CommandFailed(`there is no Python in ${zig}`);
  return version;
}

/**
 * Writes a file and the directories above it.
 * @param {string} path
 * @param {string | Buffer} content
 * @param {number} [mode]
 */
function write(path, content, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** @typedef {{ directory: string, program: string, version: string, copyright: string }} Parts */

/** @param {Parts} parts @returns {Promise<string>} its path */
async function makeDebianPackage({ directory, program, version, copyright }) {
  const root = join(directory, "debian");
  const unit = readFileSync(inProject("server", "packaging", "seenguard-server.service"), "utf8");
  write(join(root, "usr/bin/seenguard-server"), readFileSync(program), 0o755);
  write(join(root, "lib/systemd/system/seenguard-server.service"), unit);
  write(join(root, "lib/systemd/system/seenguard-consumer.service"), consumerUnit(unit));
  write(
    join(root, "etc/default/seenguard-server"),
    readFileSync(inProject("server", "packaging", "environment")),
    0o600,
  );
  mkdirSync(join(root, "etc/seenguard"), { mode: 0o755 });
  write(join(root, DOCUMENTS, "copyright"), copyright);
  write(join(root, DOCUMENTS, "service.md"), readFileSync(inProject("docs", "service.md")));
  write(join(root, DOCUMENTS, "changelog.gz"), gzipSync(readFileSync(inProject("CHANGELOG.md"))));
  const control = {
    Package: "seenguard-server",
    Version: version,
    Architecture: "amd64",
    Section: "net",
    Priority: "optional",
    Maintainer: MAINTAINER,
    Depends: "adduser, ca-certificates",
    "Installed-Size": String(Math.ceil(statSync(program).size / 1024) + 256),
    Description: `${SUMMARY}\n A service that filters and pages ranked ids for a ranker in any language, and stores in\n Redis what people have seen.`,
  };
  const lines = Object.entries(control).map(([name, value]) => `${name}: ${value}\n`);
  write(join(root, "DEBIAN/control"), lines.join(""));
  write(join(root, "DEBIAN/conffiles"), "/etc/default/seenguard-server\n");
  for (const [name, script] of Object.entries(maintainerScripts))
    write(join(root, "DEBIAN", name), `#!/bin/sh\nset -e\n${script}`, 0o755);
  const file = join(directory, `seenguard-server_${version}_amd64.deb`);
  await run("dpkg-deb", ["--root-owner-group", "--build", root, file]);
  return file;
}

/** Both units read one file of options, so --listen must differ. @param {string} unit */
const consumerUnit = (unit) =>
  unit
    .replace(/^# Of the Debian package.*\n/, "")
    .replace("Seenguard, pages without repeats", "Seenguard, consumer of reports")
    .replace(/^ExecStart=.*$/m, "$& consume --listen 127.0.0.1:8081 --name %H");

const units = "seenguard-server.service seenguard-consumer.service";
const reload = "if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi\n";

/** The units are not enabled on installation, since their options must be written first. */
const maintainerScripts = {
  postinst: `if [ "$1" = configure ]; then
  adduser --system --group --quiet --no-create-home --home /nonexistent seenguard
  chgrp seenguard /etc/seenguard
  chmod 750 /etc/seenguard
fi
${reload}if [ "$1" = configure ] && [ -n "$2" ] && [ -d /run/systemd/system ]; then systemctl try-restart ${units}; fi
`,
  prerm: `if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl disable --now ${units}; fi\n`,
  postrm: reload,
};

/**
 * Makes an image from scratch. @param {Parts} parts @returns {Promise<{ image: string, layout: string, tag: string }>}
 */
async function makeImage({ directory, program, version, copyright }) {
  const [root, layout] = [join(directory, "root"), join(directory, "layout")];
  write(join(root, "usr/bin/seenguard-server"), readFileSync(program), 0o755);
  write(join(root, CERTIFICATES), readFileSync(CERTIFICATES));
  write(join(root, DOCUMENTS, "copyright"), copyright);
  write(
    join(root, "usr/share/doc/ca-certificates/copyright"),
    readFileSync("/usr/share/doc/ca-certificates/copyright"),
  );
  mkdirSync(join(root, "tmp"));
  chmodSync(join(root, "tmp"), 0o1777);
  const reference = `${layout}:${version}`;
  await umoci("init", "--layout", layout);
  await umoci("new", "--image", reference);
  const owner = process.getuid?.() === 0 ? [] : ["--rootless"];
  await umoci("insert", ...owner, "--image", reference, root, "/");
  await umoci("config", "--image", reference, ...imageSettings(version));
  await umoci("gc", "--layout", layout);
  const image = join(directory, `seenguard-server-${version}-oci.tar`);
  await run("tar", ["--create", "--file", image, "--directory", layout, "."]);
  return { image, layout, tag: version };
}

/** @param {...string} args */
const umoci = (...args) => run(programs.umoci.find() ?? "umoci", args);

/** @param {string} version */
function imageSettings(version) {
  const revision = execFileSync("git", ["rev-parse", "HEAD"], { cwd: inProject(".") })
    .toString()
    .trim();
  const labels = { title: "seenguard-server", description: SUMMARY, licenses: "MIT OR Apache-2.0", version, revision };
  const config = [
    ["entrypoint", "/usr/bin/seenguard-server"],
    ["user", IMAGE_USER],
    ["workingdir", "/"],
    ["exposedports", "8080"],
    ["stopsignal", "SIGTERM"],
    // Reachable from outside of the container, so it needs --token-file.
    ["env", "SEENGUARD_LISTEN=0.0.0.0:8080"],
    ["env", `SSL_CERT_FILE=${CERTIFICATES}`],
    ...Object.entries(labels).map(([name, value]) => ["label", `org.opencontainers.image.${name}=${value}`]),
  ];
  return [
    ...["--os", "linux", "--architecture", "amd64", "--created", new Date().toISOString()],
    ...config.map(([name, value]) => `--config.${name ?? ""}=${value ?? ""}`),
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  await main(async () => {
    await makeRelease();
  });
