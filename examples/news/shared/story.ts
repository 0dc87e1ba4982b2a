/** What server and page say to each other. */
import type { Snapshot } from "seenguard";

export interface Account {
  id: string;
  name: string;
}

export interface Story {
  id: string;
  title: string;
  topic: string;
  source: string;
  minutesAgo: number;
  /** Somebody has shared another story. */
  repost?: { of: string; by: string };
}

export interface Article extends Story {
  paragraphs: string[];
}

export interface StoryPage {
  items: Story[];
  next: string | null;
  seen: Snapshot;
}
