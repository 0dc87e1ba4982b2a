/**
 * The demo, from nothing: set-up, build, server. `npm start`; its last line is the address. www/server/main.ts says
 * which environment variables it knows.
 */
import { spawn } from "node:child_process";
import { build } from "./build.mjs";
import { inProject, root } from "./lib/paths.mjs";
import { main } from "./setup.mjs";

await main(async () => {
  await build({ sizes: false });
  const server = spawn(process.execPath, ["--import", "tsx", inProject("www", "server", "main.ts")], {
    cwd: root,
    stdio: "inherit",
  });
  // A terminal sends Ctrl-C to both; the server ends in its own time, and this script with it. Who ends this script
  // alone means the server too.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => server.kill("SIGTERM"));
  process.exitCode = await new Promise((resolve) => {
    server.once("exit", (code, signal) => {
      resolve(signal === null ? (code ?? 1) : 1);
    });
  });
});
