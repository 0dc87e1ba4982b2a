import { createApp } from "vue";
import Pages from "./Pages.vue";

createApp(Pages).mount("#app");
