/** What the apps find beside them once they are installed, and what Vite makes of an address. */
/// <reference types="vite/client" />
declare module "*chapters.json" {
  const chapters: import("./story.js").Chapters;
  export default chapters;
}
