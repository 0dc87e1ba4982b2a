/** Leaves the feed to a worker. */
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
worker.addEventListener("message", ({ data }) => {
  window.outcomes = data;
});
