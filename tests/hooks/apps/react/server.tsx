import { renderToString } from "react-dom/server";
import { StaticRouter } from "react-router-dom";
import type { Initial } from "../shared.ts";
import { App } from "./app.tsx";

export function render(initial: Initial): string {
  return renderToString(
    <StaticRouter location="/">
      <App initial={initial} />
    </StaticRouter>,
  );
}
