/** The page's start: routes, and where a page is scrolled to. */
import { createApp } from "vue";
import { createRouter, createWebHistory, RouterView } from "vue-router";
import "../style.css";
import Article from "./Article.vue";
import History from "./History.vue";
import Layout from "./Layout.vue";
import { rendered } from "./account.ts";
import SignIn from "./SignIn.vue";
import Stories from "./Stories.vue";

const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: "/sign-in", component: SignIn },
    {
      path: "/",
      component: Layout,
      children: [
        { path: "", component: Stories, props: { path: "/api/feed", title: "New to you", old: "drop" } },
        {
          path: "topics/:topic",
          component: Stories,
          props: ({ params: { topic } }) => ({ path: `/api/topics/${String(topic)}`, title: topic, old: "last" }),
        },
        { path: "articles/:id", component: Article, props: true },
        { path: "history", component: History },
      ],
    },
  ],
  linkActiveClass: "",
  linkExactActiveClass: "active",
  scrollBehavior: async (_to, _from, saved) => {
    await rendered();
    return saved ?? { top: 0 };
  },
});

createApp(RouterView).use(router).mount("#app");
