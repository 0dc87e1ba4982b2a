/**
 * Groups the stories of a JSON file in the order in which they arrive, and prints the ids of each:
 *
 *     node --import tsx examples/near-duplicates/main.ts examples/near-duplicates/stories.json
 */
import { readFileSync } from "node:fs";
import { StoryGroups, type Story } from "./stories.ts";

const [file = new URL("stories.json", import.meta.url)] = process.argv.slice(2);
const stories = JSON.parse(readFileSync(file, "utf8")) as (Story & { title: string })[];

const groups = await StoryGroups.create();
for (const story of stories) {
  const ids = [story.id, groups.groupOf(story)]; // what `id` of filter, pageOf and the feed returns for the item
  console.log(JSON.stringify(ids), story.title);
}
groups.free();
