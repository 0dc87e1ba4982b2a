/** What server and page say to each other. */

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
  /** It is another story, which somebody has shared. */
  repost?: { of: string; by: string };
}

export interface Article extends Story {
  paragraphs: string[];
}

/** Who has seen a story needs no repost of it, nor the other way round. */
export const idsOf = ({ id, repost }: Story) => (repost ? [id, repost.of] : [id]);

export const ago = (minutes: number) => (minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`);
