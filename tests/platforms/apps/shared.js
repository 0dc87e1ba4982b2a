/** What the apps share: the page of the feed, and what a page's side and a server do with it. */
export { guavaScenario, scenario } from "./data.js";
export { runScenario } from "./scenario.js";
export { serve } from "./server.js";
