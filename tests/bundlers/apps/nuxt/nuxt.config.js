export default {
  app: { head: { title: "A feed in Nuxt", htmlAttrs: { lang: "en" }, link: [{ rel: "icon", href: "data:," }] } },
  compatibilityDate: "2026-04-01",
  nitro: { preset: "cloudflare_module" },
};
