/**
 * Which keys hold what.
 *
 *     seen:<user>            list    the person's shards: one text an element, newest first, at most 10: base64 of
 *                                    a native shard, or a go-bloomfilter record; expires with the window, counted from
 *                                    the last change
 *     impressions            stream  user, id, at: what was seen, on its way to the consumers
 *       recorders            group   its consumers; an entry is acknowledged when it is in the shards, and then deleted
 *     impressions:unreadable stream  entries that no consumer could read, for whoever wants to know (the latest 1,000)
 *     problems               list    what consumers reported, as JSON, newest first (the latest 50)
 *
 * The rest makes the demo's lag, which a real pipeline has by itself:
 *
 *     underway:<user>        list    impressions that have not been in the stream's lag for long enough
 *     underway               set     the people who have such a list
 *     control:<user>         hash    running, lagSeconds, losesEvents, replicaLags; accepted, lost
 *     replica:<user>         list    a copy of seen:<user>, as the replica has it that lags
 */
export const IMPRESSIONS = "impressions";
export const RECORDERS = "recorders";
export const UNREADABLE = "impressions:unreadable";
export const PROBLEMS = "problems";
export const UNDER_WAY = "underway";

export const seenKey = (user: string): string => `seen:${user}`;
export const replicaKey = (user: string): string => `replica:${user}`;
export const underWayKey = (user: string): string => `underway:${user}`;
export const controlKey = (user: string): string => `control:${user}`;
