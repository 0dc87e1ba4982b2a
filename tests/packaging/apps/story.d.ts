/** The types of story.js. */
import type { SeenGuard, Snapshot } from "seenguard";

export interface Chapters {
  snapshot: Snapshot;
  page: { id: string }[];
  fresh: string[];
}
export interface Told {
  applied: boolean;
  before: string[];
  unknown: number;
  after: string[];
  pending: number;
  engine: "wasm" | "none";
  storage: string;
  errors: string[];
}
export declare function tell(
  entry: { SeenGuard: { open(options: never): Promise<SeenGuard> } },
  chapters: Chapters,
  options?: Record<string, unknown>,
): Promise<Told>;
