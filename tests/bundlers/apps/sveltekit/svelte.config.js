import cloudflare from "@sveltejs/adapter-cloudflare";
import node from "@sveltejs/adapter-node";

const adapter = process.env.ADAPTER === "cloudflare" ? cloudflare() : node();

export default { kit: { adapter } };
