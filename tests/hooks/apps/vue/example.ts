import Feed from "documented-example.vue";
import { createApp } from "vue";

createApp(Feed, { userId: "ada" }).mount("#app");
