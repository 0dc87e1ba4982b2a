import { VitePWA } from "vite-plugin-pwa";

export default { plugins: [VitePWA({ registerType: "autoUpdate", manifest: { name: "A feed" } })] };
