package seenguard.flink;

import org.apache.flink.util.ParameterTool;

import java.io.Serializable;

/**
 * How chains are kept: as {@code ChainOptions} of seenguard/server, whose readers of the lists have the same.
 *
 * @param capacity items a shard
 * @param shards full shards, with the newest, that are kept
 * @param falsePositiveRate of each full shard
 * @param seed of XXH64
 * @param ttlSeconds for which no item is forgotten; 0: by capacity alone
 */
record ChainOptions(int capacity, int shards, double falsePositiveRate, long seed, int ttlSeconds)
        implements Serializable {
    ChainOptions {
        check(capacity >= 1, "--capacity must be at least 1");
        check(
                shards >= 1 && shards <= (ttlSeconds > 0 ? 32 : 64),
                "--shards must be 1 to 64, with a ttl 1 to 32");
        check(falsePositiveRate > 0 && falsePositiveRate < 1, "--rate must be between 0 and 1");
        check(ttlSeconds >= 0 && ttlSeconds <= 1_000_000_000, "--ttl-seconds must be 0 to 10^9");
        check(bits(capacity, falsePositiveRate) <= 1 << 24, "a shard has at most 2^24 bits");
        check(hashes(capacity, falsePositiveRate) <= 32, "a shard has at most 32 hashes");
    }

    static ChainOptions from(ParameterTool arguments) {
        return new ChainOptions(
                arguments.getInt("capacity", 1000),
                arguments.getInt("shards", 5),
                arguments.getDouble("rate", 0.001),
                Long.parseUnsignedLong(arguments.get("seed", "0")),
                arguments.getInt("ttl-seconds", 0));
    }

    /** m = ceil(−n · ln ε / (ln 2)²). */
    int bits() {
        return (int) bits(capacity, falsePositiveRate);
    }

    /** k = max(1, round(m / n · ln 2)). */
    int hashes() {
        return (int) hashes(capacity, falsePositiveRate);
    }

    long sliceSeconds() {
        return ttlSeconds / Math.max(1, shards - 1);
    }

    /** After how long without a change no shard of a list answers any more; 0: never. */
    long listTtlSeconds() {
        return (long) Math.ceil(ttlSeconds * (1 + 1.0 / Math.max(1, shards - 1)));
    }

    private static double bits(int capacity, double rate) {
        double ln2 = Math.log(2);
        return Math.ceil(-capacity * Math.log(rate) / (ln2 * ln2));
    }

    private static double hashes(int capacity, double rate) {
        return Math.max(1, Math.rint(bits(capacity, rate) / capacity * Math.log(2)));
    }

    private static void check(boolean isRight, String what) {
        if (!isRight) {
            throw new IllegalArgumentException(what);
        }
    }
}
