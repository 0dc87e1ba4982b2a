package seenguard.flink;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * A user's shards, newest first, and what is unseen and forgotten beside them. The same events make the same bytes
 * as in {@code ShardChain.ingest} of seenguard/server; src/chain/mod.rs of the crate explains the rules.
 */
final class ShardChain {
    private static final int MAX_SHARDS = 64;
    private static final long MAX_BITS = 1 << 26;
    private static final int MAX_UNSEEN = 1000;
    private static final long MAX_UINT32 = 0xFFFFFFFFL;
    private static final String UNSEEN = "unseen:";
    private static final String FORGET_BEFORE = "forgetBefore";

    private final ChainOptions options;
    private final List<NativeShard> shards = new ArrayList<>();

    /** Ids and since when they are unseen, Unix ms. */
    private final Map<String, Long> unseen = new TreeMap<>();

    /** What could not be read, with the reason. */
    private final List<String> rejected = new ArrayList<>();

    /** Unix seconds; −1 if the history was never deleted. */
    private long forgetBefore = -1;

    /** The highest epoch that was ever given; −1 if none was. */
    private long lastEpoch = -1;

    /** Goes on from what is stored. */
    ShardChain(StoredSeen stored, ChainOptions options) {
        this.options = options;
        int unreadNewest = 0;
        for (String text : stored.shards()) {
            try {
                shards.add(decode(text));
            } catch (IllegalArgumentException error) {
                rejected.add(error.getMessage());
                unreadNewest += shards.isEmpty() ? 1 : 0;
            }
        }
        for (NativeShard shard : shards) {
            lastEpoch = Math.max(lastEpoch, shard.epoch);
        }
        // Shards that cannot be read had the numbers that follow: versions must not come again.
        lastEpoch += shards.isEmpty() ? 0 : unreadNewest;
        stored.fields().forEach(this::readField);
        dropNeedlessUnseen();
    }

    private NativeShard decode(String text) {
        NativeShard shard = NativeShard.decode(text);
        if (shards.size() == MAX_SHARDS || bits() + shard.bits > MAX_BITS) {
            throw new IllegalArgumentException("too-large");
        }
        return shard;
    }

    /** A field that means nothing is left out. */
    private void readField(String name, String value) {
        double time;
        try {
            time = Double.parseDouble(value);
        } catch (NumberFormatException error) {
            return;
        }
        if (name.equals(FORGET_BEFORE)) {
            forgetBefore = (long) time;
        } else if (name.startsWith(UNSEEN)) {
            unseen.put(name.substring(UNSEEN.length()), (long) time);
        }
    }

    /** The codes of the shards that could not be read, and are left out of what is stored next. */
    List<String> rejected() {
        return rejected;
    }

    /**
     * Takes in what happened, whenever that arrives. What is from before the history was deleted, and an impression
     * from before its id became unseen, changes nothing.
     */
    void ingest(SeenEvent event) {
        long now = event.arrived() / 1000;
        long at = Math.min(event.at(), event.arrived());
        boolean shardsLeft = dropExpired(now);
        if (forgetBefore >= 0 && at < forgetBefore * 1000) {
            // It no longer counts.
        } else if (event.isUnseen()) {
            unseen.merge(event.id(), at, Math::max);
            dropNeedlessUnseen();
        } else if (at > unseen.getOrDefault(event.id(), -1L)) {
            shardsLeft |= record(event.id(), now);
        }
        if (shardsLeft) {
            dropNeedlessUnseen();
        }
    }

    /** Inserts an id unless the newest shard contains it: seen again, it is renewed. Returns whether a shard began. */
    private boolean record(String id, long now) {
        boolean begins = isNewestDue(now);
        if (begins) {
            begin(now);
        }
        shards.get(0).insert(bytes(id));
        unseen.remove(id);
        return begins;
    }

    /** Whether a new shard must begin before the next insertion. */
    private boolean isNewestDue(long now) {
        if (shards.isEmpty()) {
            return true;
        }
        NativeShard newest = shards.get(0);
        boolean isOfTheseOptions =
                newest.bits == options.bits()
                        && newest.hashes == options.hashes()
                        && newest.seed == options.seed()
                        && (newest.expires != 0) == (options.ttlSeconds() > 0);
        if (!isOfTheseOptions
                || newest.count() >= options.capacity()
                || newest.epoch != lastEpoch) {
            return true;
        }
        // A beginning far ahead comes from options that have changed: what goes in would be kept
        // too long.
        long begun = Math.max(0, newest.expires - options.ttlSeconds() - options.sliceSeconds());
        return newest.expires != 0 && Math.abs(now - begun) > options.sliceSeconds();
    }

    private void begin(long now) {
        long next = Math.min(lastEpoch + 1, MAX_UINT32);
        lastEpoch = lastEpoch < 0 ? now : shards.isEmpty() ? Math.max(next, now) : next;
        long end = Math.min(now + options.ttlSeconds() + options.sliceSeconds(), MAX_UINT32);
        long expires = options.ttlSeconds() == 0 ? 0 : end;
        shards.add(
                0,
                new NativeShard(
                        options.bits(), options.hashes(), options.seed(), lastEpoch, expires));
        dropOldest();
    }

    /** Those sealed by time go by their expiry alone; of the newest and the full ones the options' number stays. */
    private void dropOldest() {
        while (true) {
            int[] counting = IntStream.range(0, shards.size()).filter(this::counts).toArray();
            if (counting.length > options.shards()) {
                shards.remove(counting[counting.length - 1]);
            } else if (shards.size() > MAX_SHARDS || bits() > MAX_BITS) {
                shards.remove(shards.size() - 1);
            } else {
                return;
            }
        }
    }

    private boolean counts(int index) {
        NativeShard shard = shards.get(index);
        return index == 0 || shard.count() >= options.capacity() || shard.expires == 0;
    }

    private boolean dropExpired(long now) {
        return shards.removeIf(shard -> shard.isExpired(now));
    }

    /** Drops the unseen ids that no shard contains, and all but the newest 1,000 of the others. */
    private void dropNeedlessUnseen() {
        unseen.keySet().removeIf(id -> !contains(id));
        if (unseen.size() > MAX_UNSEEN) {
            List<Map.Entry<String, Long>> newestFirst = new ArrayList<>(unseen.entrySet());
            newestFirst.sort(Map.Entry.<String, Long>comparingByValue().reversed());
            newestFirst
                    .subList(MAX_UNSEEN, newestFirst.size())
                    .forEach(entry -> unseen.remove(entry.getKey()));
        }
    }

    private boolean contains(String id) {
        return shards.stream().anyMatch(shard -> shard.contains(bytes(id)));
    }

    private long bits() {
        return shards.stream().mapToLong(shard -> shard.bits).sum();
    }

    private static byte[] bytes(String id) {
        return id.getBytes(ISO_8859_1);
    }

    /** What to store. */
    StoredSeen stored(long nowSeconds) {
        if (dropExpired(nowSeconds)) {
            dropNeedlessUnseen();
        }
        Map<String, String> fields = new HashMap<>();
        unseen.forEach((id, at) -> fields.put(UNSEEN + id, Long.toString(at)));
        if (forgetBefore >= 0) {
            fields.put(FORGET_BEFORE, Long.toString(forgetBefore));
        }
        return new StoredSeen(shards.stream().map(NativeShard::text).toList(), fields);
    }
}
