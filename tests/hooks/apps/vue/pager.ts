/** A screen that `<KeepAlive>` caches: a list that has a pager of its own, below a root with `?root` in the address. */
import Pager from "documented-pager.vue";
import { useSeenGuard, vSeenRoot } from "seenguard/vue";
import { createApp, h, KeepAlive, shallowRef, withDirectives } from "vue";
import { loadedItems, namespaceOf, noteRender, open } from "../shared.ts";

createApp({
  setup() {
    const { guard } = useSeenGuard({ namespace: namespaceOf("ada"), open });
    const loaded = shallowRef(loadedItems(1));
    const isHere = shallowRef(true);
    const Screen = {
      setup: () => () =>
        withDirectives(
          h("section", [
            h("p", { "data-seen-id": "in-root" }, "Below the root"),
            h(Pager, { guard: guard.value, loaded: loaded.value }),
          ]),
          [[vSeenRoot, { guard: location.search === "?root" ? guard.value : null, dwellMs: 200 }]],
        ),
    };
    return () => {
      noteRender("ada", guard.value);
      return [
        h("button", { onClick: () => (loaded.value = loadedItems(2)) }, "More"),
        h("button", { onClick: () => (isHere.value = false) }, "Leave"),
        h("button", { onClick: () => (isHere.value = true) }, "Return"),
        h(KeepAlive, null, { default: () => (isHere.value ? h(Screen) : null) }),
      ];
    };
  },
}).mount("#app");
