/** A server component: the page's items are those that the server knows to be fresh. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../shared.js";
import { Reader } from "./reader.jsx";

export default async function Page() {
  const outcome = await serve({ SeenGuard, ShardChain, plan }, scenario);
  return (
    <>
      <Reader />
      <pre id="server">{JSON.stringify(outcome)}</pre>
    </>
  );
}
