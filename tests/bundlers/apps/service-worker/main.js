/** Registers the service worker that the address names, and asks it for the feed. */
const type = new URLSearchParams(location.search).get("type");
await navigator.serviceWorker.register(`${type}.js`, { type });
await navigator.serviceWorker.ready;
const { active } = await navigator.serviceWorker.getRegistration();
navigator.serviceWorker.addEventListener("message", ({ data }) => {
  window.outcomes = data;
});
navigator.serviceWorker.startMessages();
active.postMessage("the feed, please");
