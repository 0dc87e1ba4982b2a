package seenguard.flink;

import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Base64;
import java.util.BitSet;

/**
 * One shard in Seenguard's native format: a Bloom filter with what a device needs to use it. Its table is in
 * docs/other-languages.md, "Any other language"; the Rice payload is that of src/wire/rice.rs.
 */
final class NativeShard {
    private static final XXHash64 XXH64 = XXHashFactory.fastestJavaInstance().hash64();
    private static final int MAGIC = 0x31534753; // "SGS1", little-endian
    private static final byte RAW = 0;
    private static final byte RICE = 1;
    private static final int HEADER_BYTES = 32;
    private static final int CHECKSUM_BYTES = 4;
    private static final int RICE_PREFIX_BYTES = 5;
    private static final int MAX_RICE_PARAMETER = 31;
    private static final int MAX_BITS = 1 << 24;
    private static final int MAX_HASHES = 32;
    private static final long MASK = 0xFFFFFFFFL;

    final int bits;
    final int hashes;
    final long seed;

    /** The shard's number in its chain. */
    final long epoch;

    /** Unix seconds; 0 is never. */
    final long expires;

    /** How many ids were inserted that the shard did not contain before. */
    private long count;

    private final BitSet set;

    /** As it was read, until something is inserted. */
    private String text;

    NativeShard(int bits, int hashes, long seed, long epoch, long expires) {
        this(bits, hashes, seed, epoch, expires, 0, new BitSet(bits));
    }

    private NativeShard(
            int bits, int hashes, long seed, long epoch, long expires, long count, BitSet set) {
        this.bits = bits;
        this.hashes = hashes;
        this.seed = seed;
        this.epoch = epoch;
        this.expires = expires;
        this.count = count;
        this.set = set;
    }

    long count() {
        return count;
    }

    boolean isExpired(long nowSeconds) {
        return expires != 0 && nowSeconds >= expires;
    }

    boolean contains(byte[] id) {
        for (int position : positions(id)) {
            if (!set.get(position)) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether the shard did not contain the id, given as UTF-8. */
    boolean insert(byte[] id) {
        if (contains(id)) {
            return false;
        }
        for (int position : positions(id)) {
            set.set(position);
        }
        count = Math.min(count + 1, MASK);
        text = null;
        return true;
    }

    private int[] positions(byte[] id) {
        long hash = XXH64.hash(id, 0, id.length, seed);
        long x = hash & MASK;
        long y = hash >>> 32;
        long w = 0;
        int[] positions = new int[hashes];
        for (int index = 0; index < hashes; index++) {
            positions[index] = (int) ((x * bits) >>> 32);
            x = (x + y) & MASK;
            w = (w + 0x9E3779B9L) & MASK;
            y = (y + w) & MASK;
        }
        return positions;
    }

    /** What it was read from, or since something was inserted its canonical text. */
    String text() {
        if (text == null) {
            text = encode();
        }
        return text;
    }

    /** The canonical text: of the two payloads the shorter one, raw on a tie. */
    String encode() {
        byte[] raw = Arrays.copyOf(set.toByteArray(), (bits + 7) / 8);
        byte[] rice = ricePayload(raw.length);
        byte[] payload = rice == null ? raw : rice;
        int body = HEADER_BYTES + payload.length;
        ByteBuffer out = ByteBuffer.allocate(body + CHECKSUM_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        out.putInt(MAGIC).put(rice == null ? RAW : RICE).put((byte) hashes).putShort((short) 0);
        out.putInt(bits)
                .putInt((int) count)
                .putLong(seed)
                .putInt((int) epoch)
                .putInt((int) expires);
        out.put(payload).putInt((int) XXH64.hash(out.array(), 0, body, 0));
        return Base64.getEncoder().encodeToString(out.array());
    }

    /** Null if it is not shorter than {@code rawBytes}. */
    private byte[] ricePayload(int rawBytes) {
        int[] gaps = new int[set.cardinality()];
        int previous = -1;
        for (int index = 0; index < gaps.length; index++) {
            int position = set.nextSetBit(previous + 1);
            gaps[index] = position - previous - 1;
            previous = position;
        }
        // The sum is convex in r: the first r that its successor does not beat is the smallest of
        // the best.
        int r = 0;
        while (r < MAX_RICE_PARAMETER && streamBits(gaps, r + 1) < streamBits(gaps, r)) {
            r++;
        }
        long bytes = RICE_PREFIX_BYTES + (streamBits(gaps, r) + 7) / 8;
        if (bytes >= rawBytes) {
            return null;
        }
        BitSet stream = new BitSet();
        int at = 0;
        for (int gap : gaps) {
            int ones = gap >> r;
            stream.set(at, at + ones);
            at += ones + 1;
            for (int place = 0; place < r; place++) {
                stream.set(at++, (gap >> place & 1) == 1);
            }
        }
        ByteBuffer out = ByteBuffer.allocate((int) bytes).order(ByteOrder.LITTLE_ENDIAN);
        return out.put((byte) r).putInt(gaps.length).put(stream.toByteArray()).array();
    }

    private static long streamBits(int[] gaps, int r) {
        long sum = (long) gaps.length * (1 + r);
        for (int gap : gaps) {
            sum += gap >> r;
        }
        return sum;
    }

    /** Throws an IllegalArgumentException with the format's code for what cannot be read. */
    static NativeShard decode(String text) {
        byte[] bytes = decodeBase64(text);
        check(bytes.length >= HEADER_BYTES + CHECKSUM_BYTES, "truncated");
        int body = bytes.length - CHECKSUM_BYTES;
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        check(in.getInt() == MAGIC, "bad-magic");
        check(in.getInt(body) == (int) XXH64.hash(bytes, 0, body, 0), "bad-checksum");
        byte encoding = in.get();
        int hashes = Byte.toUnsignedInt(in.get());
        check((encoding == RAW || encoding == RICE) && in.getShort() == 0, "bad-encoding");
        long bits = in.getInt() & MASK;
        check(
                hashes >= 1 && hashes <= MAX_HASHES && bits >= 1 && bits <= MAX_BITS,
                "bad-parameters");
        long count = in.getInt() & MASK;
        long seed = in.getLong();
        long epoch = in.getInt() & MASK;
        long expires = in.getInt() & MASK;
        ByteBuffer payload = in.limit(body).slice().order(ByteOrder.LITTLE_ENDIAN);
        BitSet set = encoding == RAW ? readRaw(payload, (int) bits) : readRice(payload, (int) bits);
        NativeShard shard = new NativeShard((int) bits, hashes, seed, epoch, expires, count, set);
        shard.text = text;
        return shard;
    }

    /** Either alphabet, with padding or without, and nothing else. */
    private static byte[] decodeBase64(String text) {
        boolean isUrlSafe = text.indexOf('-') >= 0 || text.indexOf('_') >= 0;
        byte[] bytes;
        try {
            bytes = (isUrlSafe ? Base64.getUrlDecoder() : Base64.getDecoder()).decode(text);
        } catch (IllegalArgumentException error) {
            throw new IllegalArgumentException("bad-base64", error);
        }
        // Java ignores bits that are left over.
        String again =
                (isUrlSafe ? Base64.getUrlEncoder() : Base64.getEncoder()).encodeToString(bytes);
        check(
                again.startsWith(text) && again.replace("=", "").length() <= text.length(),
                "bad-base64");
        return bytes;
    }

    private static BitSet readRaw(ByteBuffer payload, int bits) {
        BitSet set = BitSet.valueOf(payload);
        check(payload.remaining() == (bits + 7) / 8 && set.length() <= bits, "bad-payload");
        return set;
    }

    private static BitSet readRice(ByteBuffer payload, int bits) {
        check(payload.remaining() >= RICE_PREFIX_BYTES, "bad-payload");
        int r = Byte.toUnsignedInt(payload.get());
        long count = payload.getInt() & MASK;
        long length = 8L * payload.remaining();
        check(r <= MAX_RICE_PARAMETER && count <= bits && count * (1 + r) <= length, "bad-payload");
        BitSet stream = BitSet.valueOf(payload);
        BitSet set = new BitSet(bits);
        int at = 0;
        long position = -1;
        for (long index = 0; index < count; index++) {
            int end = stream.nextClearBit(at);
            long gap = (long) (end - at) << r;
            at = end + 1;
            check(at + r <= length, "bad-payload");
            for (int place = 0; place < r; place++) {
                gap |= stream.get(at++) ? 1L << place : 0;
            }
            position += gap + 1;
            check(position < bits, "bad-payload");
            set.set((int) position);
        }
        check((at + 7) / 8 * 8L == length && stream.nextSetBit(at) < 0, "bad-payload");
        return set;
    }

    private static void check(boolean isRight, String code) {
        if (!isRight) {
            throw new IllegalArgumentException(code);
        }
    }
}
