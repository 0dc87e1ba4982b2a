/** The page: its data comes from a server function. */
import { createFileRoute } from "@tanstack/react-router";
import { createServerFn } from "@tanstack/react-start";
import { useEffect } from "react";
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { showFeed } from "../../../feed.js";
import { scenario, serve } from "../../../shared.js";

/** As text, since one id has a character that may not stand in a document, where Start writes the data. */
const load = createServerFn().handler(async () =>
  JSON.stringify(await serve({ SeenGuard, ShardChain, plan }, scenario)),
);

function Home() {
  const outcome = Route.useLoaderData();
  useEffect(() => {
    showFeed({ SeenGuard });
  }, []);
  return (
    <>
      <ol id="feed" />
      <pre id="server">{outcome}</pre>
    </>
  );
}

export const Route = createFileRoute("/")({ loader: () => load(), component: Home });
