/** Modules that exist next to the apps once they are installed, and Vite's imports by address. */
/// <reference types="vite/client" />
declare module "*scenario.json" {
  const scenario: import("./scenario.js").Scenario;
  export default scenario;
}
