/** Serves the built page: its files as they are, everything else rendered. */
import { createServer } from "node:http";
import sirv from "sirv";
import { render } from "./server/entry.ssr.js";

const files = sirv("dist", { extensions: [] });

createServer((request, response) => {
  files(request, response, async () => {
    response.setHeader("content-type", "text/html");
    response.end(await render());
  });
}).listen(Number(process.env.PORT), "127.0.0.1");
