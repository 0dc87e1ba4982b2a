require("seenguard/testing");

/** Jest's jsdom has none of these; the first two the guard takes from seenguard/testing. */
const missing = ["TextEncoder", "TextDecoder", "structuredClone", "indexedDB", "fetch"];

test("a feed is guarded in Jest's jsdom", async () => {
  expect(missing.filter((name) => name in globalThis)).toEqual([]);
  await require("./feed.cjs").guardFeed(require("seenguard"), require("seenguard/server"));
});
