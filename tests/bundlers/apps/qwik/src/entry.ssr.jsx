import { renderToString } from "@builder.io/qwik/server";
import { manifest } from "@qwik-client-manifest";
import Root from "./root.jsx";

export const render = async () =>
  (await renderToString(<Root />, { manifest, containerAttributes: { lang: "en" } })).html;
