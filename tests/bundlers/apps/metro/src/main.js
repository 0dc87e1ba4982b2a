/** An app in React Native, as far as it is not a view. It prints what became of the page. */
import { SeenGuard } from "seenguard";
import { runScenario, scenario } from "../../shared.js";

// What React Native adds. The timers of Hermes' command do not wait: here none but those that are due at once run.
globalThis.queueMicrotask = (run) => void Promise.resolve().then(run);
globalThis.setTimeout = (run, ms = 0) => void (ms === 0 && queueMicrotask(run));
globalThis.clearTimeout = () => {};

const values = new Map();
const storage = {
  get: (key) => values.get(key),
  set: (key, value) => void values.set(key, value),
  remove: (key) => void values.delete(key),
  keys: () => [...values.keys()],
};

runScenario({ SeenGuard }, scenario, { storage }).then(
  (page) => print(JSON.stringify({ page })),
  (error) => print(error.stack),
);
