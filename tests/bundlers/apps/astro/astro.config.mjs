import node from "@astrojs/node";

export default {
  adapter: node({ mode: "standalone" }),
  output: "server",
  // Further up lies the version of another framework.
  vite: { ssr: { noExternal: ["cookie"] } },
};
