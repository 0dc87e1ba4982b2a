/** The types of the JSON between server and page. */

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
  /** Set where somebody has shared another story. */
  repost?: { of: string; by: string };
}

export interface Article extends Story {
  paragraphs: string[];
}

/** A story's ids. A repost also has its original's id, so that seeing either stops both. */
export const idsOf = ({ id, repost }: Story) => (repost ? [id, repost.of] : [id]);

export const ago = (minutes: number) => (minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`);
