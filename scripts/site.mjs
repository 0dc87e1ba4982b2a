/** Builds the documentation as a site into target/site, and serves it: `npm run site`. */
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { inProject } from "./lib/paths.mjs";
import { CommandFailed, run } from "./lib/run.mjs";
import { main } from "./setup.mjs";

const USAGE = `usage: npm run site [-- [--base /PATH/] [--serve]]

  --base /PATH/  where on its host the site will lie; without it at the top
  --serve        serves the site once it is built; the last line printed is the address. PORT says where to listen
  -h, --help     prints this`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      base: { type: "string", default: "/" },
      serve: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (!/^\/(.+\/)?$/.test(values.base))
    throw new CommandFailed(`--base is ${values.base}: it must start and end with a slash`);
  return values;
}

await main(async () => {
  const { base, serve, help } = readArguments();
  if (help === true) {
    console.log(USAGE);
    return;
  }
  await build({ sizes: false });
  const directory = inProject("target", "site");
  await run(process.execPath, [inProject("scripts", "site", "build.mjs"), base, directory]);
  if (!serve) return;
  const { serveSite } = await import("./site/serve.mjs"); // uses npm packages, which set-up has installed
  const { url } = await serveSite({ base, directory, port: Number(process.env.PORT ?? "4174") });
  console.log(url);
});
