/** Serves the built page: its files as they are, everything else rendered. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import sirv from "sirv";
import { render } from "./dist/server/entry-server.js";

const template = readFileSync("dist/client/index.html", "utf8");
const files = sirv("dist/client", { extensions: [] });

createServer((request, response) => {
  files(request, response, async () => {
    response.setHeader("content-type", "text/html");
    response.end(template.replace("<!--app-html-->", await render()));
  });
}).listen(Number(process.env.PORT), "127.0.0.1");
