import Pager from "documented-pager.vue";
import { useSeenGuard } from "seenguard/vue";
import { createApp, h, shallowRef } from "vue";
import { loadedItems, namespaceOf, noteRender, open } from "../shared.ts";

createApp({
  setup() {
    const { guard } = useSeenGuard({ namespace: namespaceOf("ada"), open });
    const loaded = shallowRef(loadedItems(1));
    return () => {
      noteRender("ada", guard.value);
      return [
        h("button", { onClick: () => (loaded.value = loadedItems(2)) }, "More"),
        h(Pager, { guard: guard.value, loaded: loaded.value }),
      ];
    };
  },
}).mount("#app");
