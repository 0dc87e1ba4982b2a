/** The app's own store: a JSON file in the app's data, which all windows share. */
import { LazyStore } from "@tauri-apps/plugin-store";
import type { SeenStorage } from "seenguard";

const store = new LazyStore("seen.json", { defaults: {}, autoSave: false });

export const storage: SeenStorage = {
  get: (key) => store.get<string>(key),
  set: async (key, value) => {
    await store.set(key, value);
    await store.save(); // resolves once the change is on the disk
  },
  remove: async (key) => {
    await store.delete(key);
  },
  keys: () => store.keys(),
};
