/** The page: rendered on the server, resumed in the browser. */
import { component$, useSignal, useTask$, useVisibleTask$ } from "@builder.io/qwik";
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { showFeed } from "../../feed.js";
import { scenario, serve } from "../../shared.js";

export default component$(() => {
  const outcome = useSignal();
  useTask$(async () => {
    outcome.value = await serve({ SeenGuard, ShardChain, plan }, scenario);
  });
  useVisibleTask$(() => showFeed({ SeenGuard }));
  return (
    <>
      <head>
        <meta charset="utf-8" />
        <title>A feed in Qwik</title>
        <link rel="icon" href="data:," />
      </head>
      <body>
        <ol id="feed" />
        <pre id="server">{JSON.stringify(outcome.value)}</pre>
      </body>
    </>
  );
});
