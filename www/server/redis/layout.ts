/**
 * Which keys hold what.
 *
 *     seen:<user>            list    the person's shards, and
 *     seen:<user>:meta       hash    its revision, what is unseen and deleted, and
 *     seen:<user>:pending    hash    what this person's devices have pending: all as `redisStore` keeps them
 *     impressions            stream  user, kind, id, at: what was seen or became unseen, on its way to the consumers;
 *                                    for consumers in Rust user, report
 *       recorders            group   its consumers; an entry is acknowledged when it is taken in, and then deleted
 *     impressions:unreadable stream  entries that no consumer could read, for whoever wants to know (the latest 1,000)
 *     problems               list    what consumers reported, as JSON, newest first (the latest 50)
 *
 * The rest makes the demo's lag, which a real pipeline has by itself:
 *
 *     underway:<user>        list    events that have not been in the stream's lag for long enough
 *     underway               set     the people who have such a list
 *     control:<user>         hash    running, lagSeconds, losesEvents, replicaLags; accepted, lost
 *     replica:<user>         list    a copy of seen:<user>, as the replica has it that lags; and replica:<user>:meta
 */
export const IMPRESSIONS = "impressions";
export const RECORDERS = "recorders";
export const UNREADABLE = "impressions:unreadable";
export const PROBLEMS = "problems";
export const UNDER_WAY = "underway";

export const REPLICA_PREFIX = "replica:";

export const seenKey = (user: string): string => `seen:${user}`;
export const replicaKey = (user: string): string => REPLICA_PREFIX + user;
/** The hashes beside a list. No person's name has a colon in it. */
export const metaKey = (list: string): string => `${list}:meta`;
export const pendingKey = (list: string): string => `${list}:pending`;
export const underWayKey = (user: string): string => `underway:${user}`;
export const controlKey = (user: string): string => `control:${user}`;
