/** Generated stories: the same ones each time, in the same order. */
import type { Article, Story } from "../shared/story.ts";
import { LIGHTHOUSES, READERS, SENTENCES, SOURCES, TOPICS } from "./words.ts";

/** A small pool: fewer stories than a page has. */
const SMALL_TOPIC = "Lighthouses";

/** The stories, best first. */
export const stories: readonly Story[] = withReposts(rank([...generated(), ...lighthouses()]));

const byId = new Map(stories.map((story) => [story.id, story]));

export const storyOf = (id: string) => byId.get(id);

export const storiesOf = (topic: string) => stories.filter((story) => story.topic === topic && !story.repost);

export function articleOf(id: string): Article | undefined {
  const story = storyOf(id);
  if (!story) return undefined;
  const written = story.repost?.of ?? id;
  const paragraphs = [0, 1, 2, 3].map((paragraph) =>
    [0, 1, 2].map((sentence) => pick(SENTENCES, `${written} ${paragraph} ${sentence}`)).join(" "),
  );
  return { ...story, paragraphs };
}

function generated(): Story[] {
  return Object.entries(TOPICS).flatMap(([topic, { subjects, events }]) =>
    subjects.flatMap((subject) => events.map((event) => storyNamed(`${subject} ${event}`, topic))),
  );
}

function lighthouses(): Story[] {
  return LIGHTHOUSES.map((title) => storyNamed(title, SMALL_TOPIC));
}

function storyNamed(title: string, topic: string): Story {
  const id = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return { id, title, topic, source: pick(SOURCES, id), minutesAgo: 0 };
}

function rank(unranked: readonly Story[]): Story[] {
  return unranked
    .toSorted((a, b) => hash(a.id) - hash(b.id))
    .map((story, index) => ({ ...story, minutesAgo: 4 + 3 * index }));
}

/** Adds reposts: of some stories that come before theirs, and of some that come after. */
function withReposts(ranked: readonly Story[]): Story[] {
  return ranked.flatMap((story, index) => {
    const original = ranked[index % 7 === 3 ? index + 30 : index - 4];
    if (!original || ![3, 6].includes(index % 7)) return [story];
    const by = pick(READERS, original.id);
    const id = `${original.id}-by-${by.toLowerCase()}-${index}`;
    return [story, { ...original, id, minutesAgo: story.minutesAgo, repost: { of: original.id, by } }];
  });
}

function pick(list: readonly string[], seed: string): string {
  return list[hash(seed) % list.length] ?? "";
}

/** FNV-1a, with its bits mixed at the end. */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (const character of text) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  return (state ^ (state >>> 13)) >>> 0;
}
