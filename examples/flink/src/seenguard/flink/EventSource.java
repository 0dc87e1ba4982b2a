package seenguard.flink;

import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.connector.base.source.reader.RecordEmitter;
import org.apache.flink.connector.base.source.reader.SingleThreadMultiplexSourceReaderBase;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.metrics.Counter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The events of Redis Streams. A checkpoint holds the last entry's id of each stream, from where they are read again
 * after a failure: there is no consumer group, and nothing is acknowledged.
 */
final class EventSource implements Source<SeenEvent, StreamSplit, List<StreamSplit>> {
    private static final long serialVersionUID = 1;
    private static final Logger LOG = LoggerFactory.getLogger(EventSource.class);
    private static final Pattern TIME = Pattern.compile("\\d{1,15}");

    private final URI redis;
    private final List<String> keys;

    EventSource(URI redis, List<String> keys) {
        this.redis = redis;
        this.keys = List.copyOf(keys);
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<SeenEvent, StreamSplit> createReader(SourceReaderContext context) {
        return new Reader(redis, context);
    }

    @Override
    public SplitEnumerator<StreamSplit, List<StreamSplit>> createEnumerator(
            SplitEnumeratorContext<StreamSplit> context) {
        return new StreamEnumerator(context, keys.stream().map(StreamSplit::from).toList());
    }

    @Override
    public SplitEnumerator<StreamSplit, List<StreamSplit>> restoreEnumerator(
            SplitEnumeratorContext<StreamSplit> context, List<StreamSplit> unassigned) {
        return new StreamEnumerator(context, unassigned);
    }

    @Override
    public SimpleVersionedSerializer<StreamSplit> getSplitSerializer() {
        return new StreamSplit.Serializer();
    }

    @Override
    public SimpleVersionedSerializer<List<StreamSplit>> getEnumeratorCheckpointSerializer() {
        return new StreamSplit.ListSerializer();
    }

    /** How far a stream was read, as this reader goes on. */
    private static final class Position {
        private String lastId;

        Position(String lastId) {
            this.lastId = lastId;
        }
    }

    @SuppressWarnings("try") // what its base class throws on closing
    private static final class Reader
            extends SingleThreadMultiplexSourceReaderBase<
                    StreamReader.Entry, SeenEvent, StreamSplit, Position> {
        Reader(URI redis, SourceReaderContext context) {
            super(() -> connect(redis), new Emitter(context), context.getConfiguration(), context);
        }

        private static StreamReader connect(URI redis) {
            try {
                return new StreamReader(redis);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        @Override
        protected Position initializedState(StreamSplit split) {
            return new Position(split.lastId());
        }

        @Override
        protected StreamSplit toSplitType(String key, Position position) {
            return new StreamSplit(key, position.lastId);
        }

        @Override
        protected void onSplitFinished(Map<String, Position> finished) {}
    }

    /** An entry that is no event is left out, counted and logged: nobody will ever be able to take it in. */
    private static final class Emitter
            implements RecordEmitter<StreamReader.Entry, SeenEvent, Position> {
        private final Counter unreadable;

        Emitter(SourceReaderContext context) {
            unreadable = context.metricGroup().getNumRecordsInErrorsCounter();
        }

        @Override
        public void emitRecord(
                StreamReader.Entry entry, SourceOutput<SeenEvent> output, Position position) {
            SeenEvent event = eventOf(entry);
            if (event == null) {
                unreadable.inc();
                LOG.warn("entry {} is no event: {}", entry.id(), entry.fields());
            } else {
                output.collect(event, event.arrived());
            }
            position.lastId = entry.id();
        }
    }

    private static SeenEvent eventOf(StreamReader.Entry entry) {
        Map<String, String> fields = new HashMap<>();
        for (int index = 0; index + 1 < entry.fields().size(); index += 2) {
            fields.put((String) entry.fields().get(index), (String) entry.fields().get(index + 1));
        }
        String user = fields.getOrDefault("user", "");
        String kind = fields.getOrDefault("kind", "seen");
        String id = fields.get("id");
        String at = fields.getOrDefault("at", "");
        boolean isEvent =
                RedisStore.canKeep(user)
                        && id != null
                        && TIME.matcher(at).matches()
                        && (kind.equals("seen") || kind.equals("unseen"));
        // An entry's id begins with the time at which Redis added it.
        long arrived = Long.parseLong(entry.id().substring(0, entry.id().indexOf('-')));
        return isEvent
                ? new SeenEvent(user, kind.equals("unseen"), id, Long.parseLong(at), arrived)
                : null;
    }
}
