/** What "seen" means here, for server and page. */
import type { Story } from "./story.ts";

export const namespaceOf = (account: string) => `news:${account}`;

/** Whoever has seen a story needs no repost of it, nor the other way round. */
export const idsOf = ({ id, repost }: Story) => (repost ? [id, repost.of] : [id]);
