/** What the apps find next to them once they are installed, and what Vite makes of an address. */
/// <reference types="vite/client" />
declare module "*scenario.json" {
  const scenario: import("./scenario.js").Scenario;
  export default scenario;
}
