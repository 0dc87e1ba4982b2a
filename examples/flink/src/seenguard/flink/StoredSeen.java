package seenguard.flink;

import java.util.List;
import java.util.Map;

/**
 * What Redis has of a user, as {@code redisStore} keeps it. Texts have a character for each byte.
 *
 * @param shards the list: one shard an element, newest first
 * @param fields the hash beside it: {@code unseen:<id>} in Unix ms, {@code forgetBefore} in Unix seconds
 */
record StoredSeen(List<String> shards, Map<String, String> fields) {}
