/** Whether a release works where nothing of this project is: the image's file system, and the Debian package. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { programs, which } from "../lib/programs.mjs";
import { CommandFailed, run, runAndRead } from "../lib/run.mjs";
import { startService } from "../lib/service.mjs";
import { makeRelease } from "../release.mjs";

/** How exposed a unit may be, of 100: systemd's own word for less is "OK". */
const MOST_EXPOSED = 20;
/** Nothing is in progress when it is to end. */
const ENDS_WITHIN_MS = 5_000;

export async function checkRelease() {
  const release = await makeRelease();
  const directory = mkdtempSync(join(tmpdir(), "seenguard-release-"));
  try {
    await checkImage(release, join(directory, "bundle"));
    await checkDebianPackage(release, join(directory, "debian"));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** @param {import("../release.mjs").Release} release @param {string} bundle */
async function checkImage({ layout, tag }, bundle) {
  const isRoot = process.getuid?.() === 0;
  await run(programs.umoci.find() ?? "umoci", [
    ...["unpack", ...(isRoot ? [] : ["--rootless"])],
    ...["--image", `${layout}:${tag}`, bundle],
  ]);
  /** @type {{ process: { user: { uid: number, gid: number }, env: string[], args: string[] } }} */
  const { process: inside } = JSON.parse(readFileSync(join(bundle, "config.json"), "utf8"));
  const { uid, gid } = inside.user;
  expect(uid > 0 && gid > 0, "the image's user is not root");
  const root = join(bundle, "rootfs");
  expect((statSync(join(root, "tmp")).mode & 0o7777) === 0o1777, "everybody may write to /tmp");
  // Nothing of this environment either. Others than root cannot become the image's user.
  const enter = isRoot ? ["chroot", `--userspec=${String(uid)}:${String(gid)}`] : ["unshare", "-r", "chroot"];
  const command = ["-i", `PATH=${process.env.PATH ?? ""}`, ...inside.env, ...enter, root, ...inside.args];
  const open = spawnSync("env", command, { encoding: "utf8", timeout: ENDS_WITHIN_MS });
  expect(open.status !== 0 && open.stderr.includes("--token-file"), "it serves nobody else without tokens");
  expect((await runAndRead("env", [...command, "--help"])).includes("--kafka <"), "it has Kafka");
  const service = await startService("env", [...command, "--namespace", "home:{user}"]);
  const { url, stop } = service;
  if (isRoot) {
    const status = readFileSync(`/proc/${String(service.process.pid)}/status`, "utf8");
    expect(new RegExp(`^Uid:\\s+${String(uid)}\\s`, "m").test(status), "it runs as the image's user");
  }
  const page = { ranked: ["a", "b", "c"], size: 2 };
  expect((await post(`${url}/v1/users/ada/page`, page)) === "200 a,b", "a page has what is ranked first");
  const report = { namespace: "home:ada", now: Date.now(), impressions: [{ id: "a", at: Date.now() }] };
  expect((await post(`${url}/v1/users/ada/impressions`, report)) === "204 ", "a report is accepted");
  expect((await post(`${url}/v1/users/ada/page`, page)) === "200 b,c", "the next page leaves out what was reported");
  const begun = performance.now();
  await stop("SIGTERM");
  expect(performance.now() - begun < ENDS_WITHIN_MS, "it ends soon after SIGTERM");
  expect(service.process.exitCode === 0, "it ends with status 0");
}

/** @param {import("../release.mjs").Release} release @param {string} directory */
async function checkDebianPackage({ debianPackage }, directory) {
  await run("dpkg-deb", ["--extract", debianPackage, directory]);
  const contents = await runAndRead("dpkg-deb", ["--contents", debianPackage]);
  const owners = contents
    .trim()
    .split("\n")
    .map((line) => line.split(/\s+/)[1]);
  expect(
    owners.every((owner) => owner === "root/root"),
    "all of the package belongs to root",
  );
  const version = (await runAndRead("dpkg-deb", ["--field", debianPackage, "Version"])).trim();
  const program = join(directory, "usr/bin/seenguard-server");
  const ofProgram = (await runAndRead(program, ["--version"])).trim();
  expect(ofProgram === `seenguard-server ${version}`, "the program has the package's version");
  const environment = join(directory, "etc/default/seenguard-server");
  expect((statSync(environment).mode & 0o777) === 0o600, "only root may read the options, which may have a password");
  const copyright = readFileSync(join(directory, "usr/share/doc/seenguard-server/copyright"), "utf8");
  for (const name of ["librdkafka", "OpenSSL", "mimalloc", "musl", "tokio"])
    expect(copyright.includes(`- ${name} `), `the licence of ${name} is in the package`);
  for (const name of ["seenguard-server.service", "seenguard-consumer.service"]) {
    const unit = join(directory, "lib/systemd/system", name);
    const text = readFileSync(unit, "utf8");
    expect(/^RestartPreventExitStatus=78$/m.test(text), `${name} is not started again with wrong options`);
    await checkUnit(
      unit,
      text.replaceAll("=/usr/bin/", `=${directory}/usr/bin/`).replaceAll("=/etc/", `=${directory}/etc/`),
    );
  }
}

/** By systemd itself, where it is installed. @param {string} path @param {string} text with paths of this machine */
async function checkUnit(path, text) {
  const analyze = which("systemd-analyze");
  if (analyze === undefined) {
    console.log(`not checked, without systemd-analyze: ${path}`);
    return;
  }
  writeFileSync(path, text);
  const { stderr } = spawnSync(analyze, ["verify", "--man=no", path], { encoding: "utf8" });
  // Of what it does not understand it warns, as of other units of this machine.
  const warnings = stderr.split("\n").filter((line) => line.includes(basename(path)));
  expect(warnings.length === 0, `systemd accepts ${basename(path)}${warnings.map((line) => `: ${line}`).join("")}`);
  await run(analyze, ["security", "--offline=yes", `--threshold=${String(MOST_EXPOSED)}`, "--no-pager", path]);
}

/**
 * @param {string} url
 * @param {object} body
 * @returns {Promise<string>} the status, and the items of a page
 */
async function post(url, body) {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body), signal: AbortSignal.timeout(10_000) });
  const text = await answer.text();
  const { items = [] } = /** @type {{ items?: string[] }} */ (text === "" ? {} : JSON.parse(text));
  return `${String(answer.status)} ${items.join(",")}`;
}

/** @param {boolean} isMet @param {string} what must be true */
function expect(isMet, what) {
  if (!isMet) throw new CommandFailed(`not true: ${what}`);
  console.log(`✓ ${what}`);
}
