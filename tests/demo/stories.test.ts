/** How the demo's server finds stories that are copies of each other. */
import { expect, test } from "vitest";
import { canonicalAddress, StoryGroups } from "../../www/server/stories.ts";

test.each([
  "http://www.heron.example/seals/",
  "https://m.heron.example/seals?utm_source=share&fbclid=1#photos",
  "https://heron.example/seals?gclid=2",
])("%s is the address of the same page", (url) => {
  expect(canonicalAddress(url)).toBe("https://heron.example/seals");
});

test("a short text has to have the same words, and no text at all is no copy of another", async () => {
  const groups = await StoryGroups.create();
  const texts = ["Seals are back!", "seals — are back", "Seals were back", "", "…"];
  const found = texts.map((text, id) =>
    groups.groupOf({ id: String(id), url: `https://a.example/${String(id)}`, text }),
  );
  expect(found).toEqual(["0", "0", "2", "3", "4"]);
  groups.free();
});

test("what was grouped before keeps its group, also when the first of it is gone", async () => {
  const text = Array.from({ length: 120 }, (_, number) => `word${String(number)}`).join(" ");
  const groups = await StoryGroups.create();
  expect(groups.groupOf({ id: "b", group: "a", url: "https://a.example/b", text })).toBe("a");
  expect(groups.groupOf({ id: "c", url: "https://c.example", text: `${text} word0` })).toBe("a");
  groups.free();
});
