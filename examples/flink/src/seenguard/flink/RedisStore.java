package seenguard.flink;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Users' lists and hashes in Redis, as {@code redisStore} of seenguard/server keeps them: read and replaced by its
 * scripts, many users at a time. Nothing is stored over what somebody else has stored meanwhile.
 */
final class RedisStore implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(RedisStore.class);
    private static final String META = ":meta";
    private static final String PENDING = ":pending";

    /** The field of the hash that has the revision. */
    private static final String REVISION = "revision";

    /** With the pauses, about 5 seconds. */
    private static final int MOST_ATTEMPTS = 60;

    private static final int MOST_PAUSE_MS = 200;

    private final RespConnection redis;
    private final String prefix;
    private final ChainOptions options;
    private final String loadScript;
    private final String replaceScript;
    private long conflicts;

    RedisStore(URI address, String prefix, ChainOptions options) throws IOException {
        this.prefix = prefix;
        this.options = options;
        redis = new RespConnection(address);
        loadScript = load("run.lua", "keep.lua", "load.lua");
        replaceScript = load("run.lua", "replace.lua");
    }

    /** A script of these parts, as in src/redis/command.rs. */
    private String load(String... names) throws IOException {
        StringBuilder text = new StringBuilder();
        for (String name : names) {
            try (InputStream part = RedisStore.class.getResourceAsStream("/" + name)) {
                text.append(new String(part.readAllBytes(), UTF_8));
            }
        }
        return (String) redis.call("SCRIPT", "LOAD", text.toString());
    }

    /** What is stored, and its revision. */
    private record Found(StoredSeen seen, String revision) {}

    /** A list's key must not be that of another user's hash. */
    static boolean canKeep(String user) {
        return !user.isEmpty() && !user.endsWith(META) && !user.endsWith(PENDING);
    }

    /** How often somebody else was quicker. */
    long conflicts() {
        return conflicts;
    }

    /** Takes each user's events, in their order, into what is stored of that user. */
    void ingest(Map<String, List<SeenEvent>> events) throws IOException, InterruptedException {
        Map<String, List<SeenEvent>> left = events;
        for (int attempts = 0; !left.isEmpty(); attempts++) {
            if (attempts == MOST_ATTEMPTS) {
                throw new IOException(
                        "others changed what is stored of " + left.keySet() + " all the time");
            }
            if (attempts > 0) {
                conflicts += left.size();
                long longest = Math.min(1L << Math.min(attempts, 10), MOST_PAUSE_MS);
                Thread.sleep(ThreadLocalRandom.current().nextLong(longest + 1));
            }
            left = tryIngest(left);
        }
    }

    /** Returns the users for whom somebody else was quicker, with their events. */
    private Map<String, List<SeenEvent>> tryIngest(Map<String, List<SeenEvent>> events)
            throws IOException {
        for (String user : events.keySet()) {
            String list = prefix + user;
            redis.send(List.of("EVALSHA", loadScript, "3", list, list + META, list + PENDING));
        }
        Map<String, List<String>> replacements = new LinkedHashMap<>();
        Map<String, Found> stored = readAnswers(events.keySet());
        stored.forEach(
                (user, before) -> {
                    StoredSeen after = ingested(user, before.seen(), events.get(user));
                    if (!after.equals(before.seen())) {
                        replacements.put(user, replacement(user, before, after));
                    }
                });
        for (List<String> command : replacements.values()) {
            redis.send(command);
        }
        Map<String, List<SeenEvent>> left = new LinkedHashMap<>();
        for (String user : replacements.keySet()) {
            if (!Long.valueOf(1).equals(redis.receive())) {
                left.put(user, events.get(user));
            }
        }
        return left;
    }

    /** A user whose keys are of another type, which no event will ever mend, is left out. */
    private Map<String, Found> readAnswers(Iterable<String> users) throws IOException {
        Map<String, Found> stored = new LinkedHashMap<>();
        for (String user : users) {
            try {
                List<?> answer = (List<?>) redis.receive();
                StoredSeen seen = new StoredSeen(textsOf(answer.get(0)), fieldsOf(answer.get(1)));
                stored.put(user, new Found(seen, (String) answer.get(2)));
            } catch (RespConnection.Refusal refusal) {
                if (!refusal.getMessage().contains("WRONGTYPE")) {
                    throw refusal;
                }
                LOG.error("nothing can be stored of {}: {}", user, refusal.getMessage());
            }
        }
        return stored;
    }

    private StoredSeen ingested(String user, StoredSeen before, List<SeenEvent> events) {
        ShardChain chain = new ShardChain(before, options);
        if (!chain.rejected().isEmpty()) {
            LOG.error(
                    "shards of {} could not be read, and are left out: {}", user, chain.rejected());
        }
        events.forEach(chain::ingest);
        return chain.stored(System.currentTimeMillis() / 1000);
    }

    /** The command that stores {@code after}; src/redis/command.rs explains the arguments. */
    private List<String> replacement(String user, Found found, StoredSeen after) {
        StoredSeen before = found.seen();
        Difference difference = Difference.between(before.shards(), after.shards());
        List<String> command = new ArrayList<>(List.of("EVALSHA", replaceScript, "2"));
        command.addAll(List.of(prefix + user, prefix + user + META));
        command.add(found.revision());
        command.add(Integer.toString(difference.first()));
        command.add(Integer.toString(difference.last()));
        command.add(Long.toString(options.listTtlSeconds()));
        command.add(Integer.toString(difference.added()));
        for (int index = difference.added() - 1; index >= 0; index--) {
            command.add(after.shards().get(index));
        }
        command.addAll(changedFields(before.fields(), after.fields()));
        return command;
    }

    /** How to make one list of another: these elements stay, and so many come before them. */
    private record Difference(int added, int first, int last) {
        static Difference between(List<String> before, List<String> after) {
            for (int added = 0; added < after.size(); added++) {
                List<String> rest = after.subList(added, after.size());
                int first = Collections.indexOfSubList(before, rest);
                if (first >= 0) {
                    return new Difference(added, first, first + rest.size() - 1);
                }
            }
            // None.
            return new Difference(after.size(), before.size(), before.size() - 1);
        }
    }

    /** Of each field that is to be another its name and its value, an empty one if it goes. */
    private static List<String> changedFields(
            Map<String, String> before, Map<String, String> after) {
        List<String> changes = new ArrayList<>();
        before.keySet().stream()
                .filter(name -> !after.containsKey(name))
                .forEach(name -> changes.addAll(List.of(name, "")));
        after.forEach(
                (name, value) -> {
                    if (!value.equals(before.get(name))) {
                        changes.addAll(List.of(name, value));
                    }
                });
        return changes;
    }

    private static List<String> textsOf(Object list) {
        return ((List<?>) list).stream().map(String.class::cast).toList();
    }

    private static Map<String, String> fieldsOf(Object list) {
        List<String> texts = textsOf(list);
        Map<String, String> fields = new HashMap<>();
        for (int index = 0; index + 1 < texts.size(); index += 2) {
            fields.put(texts.get(index), texts.get(index + 1));
        }
        fields.remove(REVISION);
        return fields;
    }

    @Override
    public void close() throws IOException {
        redis.close();
    }
}
