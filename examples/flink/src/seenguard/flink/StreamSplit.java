package seenguard.flink;

import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * One Redis Stream and how far it was read: what a checkpoint holds.
 *
 * @param key the stream's
 * @param lastId of the last entry that was read
 */
record StreamSplit(String key, String lastId) implements SourceSplit {
    /** Before the first entry. */
    static StreamSplit from(String key) {
        return new StreamSplit(key, "0-0");
    }

    @Override
    public String splitId() {
        return key;
    }

    /** Of one split, as readers store them. */
    static final class Serializer implements SimpleVersionedSerializer<StreamSplit> {
        private final ListSerializer list = new ListSerializer();

        @Override
        public int getVersion() {
            return list.getVersion();
        }

        @Override
        public byte[] serialize(StreamSplit split) throws IOException {
            return list.serialize(List.of(split));
        }

        @Override
        public StreamSplit deserialize(int version, byte[] bytes) throws IOException {
            return list.deserialize(version, bytes).get(0);
        }
    }

    /** Of those that no reader has, as the enumerator stores them. */
    static final class ListSerializer implements SimpleVersionedSerializer<List<StreamSplit>> {
        private static final int VERSION = 1;

        @Override
        public int getVersion() {
            return VERSION;
        }

        @Override
        public byte[] serialize(List<StreamSplit> splits) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(splits.size());
            for (StreamSplit split : splits) {
                out.writeUTF(split.key());
                out.writeUTF(split.lastId());
            }
            return bytes.toByteArray();
        }

        @Override
        public List<StreamSplit> deserialize(int version, byte[] bytes) throws IOException {
            if (version != VERSION) {
                throw new IOException(
                        "a checkpoint of version " + version + " was made by another job");
            }
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
            List<StreamSplit> splits = new ArrayList<>();
            for (int left = in.readInt(); left > 0; left--) {
                splits.add(new StreamSplit(in.readUTF(), in.readUTF()));
            }
            return splits;
        }
    }
}
