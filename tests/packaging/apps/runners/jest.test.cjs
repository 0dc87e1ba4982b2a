/** Jest's jsdom has none of these. */
const missing = ["TextEncoder", "TextDecoder", "structuredClone", "indexedDB", "fetch"];

test("a feed is guarded in Jest's jsdom", async () => {
  expect(missing.filter((name) => name in globalThis)).toEqual([]);
  await require("./feed.cjs").guardFeed(require("seenguard"), require("seenguard/server"));
});
