/** The page: its data is loaded on the server. */
import { useEffect } from "react";
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { showFeed } from "../../feed.js";
import { scenario, serve } from "../../shared.js";

export const loader = () => serve({ SeenGuard, ShardChain, plan }, scenario);

export default function Home({ loaderData }) {
  useEffect(() => {
    showFeed({ SeenGuard });
  }, []);
  return (
    <>
      <ol id="feed" />
      <pre id="server">{JSON.stringify(loaderData)}</pre>
    </>
  );
}
