package seenguard.flink;

import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes events into users' lists. The list is the truth, and Flink keeps no copy of it: a checkpoint is complete only
 * when what was read before it is in the lists, and what is read again after a failure is in them already.
 */
final class SeenSink implements Sink<SeenEvent> {
    private static final long serialVersionUID = 1;

    /** Users of one pipeline. */
    private static final int BATCH_USERS = 256;

    /** Events that a writer holds. */
    private static final int MOST_EVENTS = 20_000;

    private final URI redis;
    private final String prefix;
    private final ChainOptions options;
    private final long delayMs;

    /** {@code delayMs}: a user's events of so long are written together. */
    SeenSink(URI redis, String prefix, ChainOptions options, long delayMs) {
        this.redis = redis;
        this.prefix = prefix;
        this.options = options;
        this.delayMs = delayMs;
    }

    @Override
    public SinkWriter<SeenEvent> createWriter(WriterInitContext context) throws IOException {
        Writer writer =
                new Writer(
                        new RedisStore(redis, prefix, options),
                        context.getProcessingTimeService(),
                        delayMs);
        context.metricGroup().gauge("conflicts", writer.store::conflicts);
        return writer;
    }

    private static final class Writer implements SinkWriter<SeenEvent> {
        private final RedisStore store;
        private final ProcessingTimeService time;
        private final long delayMs;
        private final Map<String, List<SeenEvent>> waiting = new LinkedHashMap<>();
        private int events;
        private boolean isDue;

        Writer(RedisStore store, ProcessingTimeService time, long delayMs) {
            this.store = store;
            this.time = time;
            this.delayMs = delayMs;
        }

        @Override
        public void write(SeenEvent event, Context context)
                throws IOException, InterruptedException {
            waiting.computeIfAbsent(event.user(), user -> new ArrayList<>()).add(event);
            events++;
            if (events >= MOST_EVENTS) {
                flush(false);
            } else if (!isDue) {
                isDue = true;
                time.registerTimer(
                        time.getCurrentProcessingTime() + delayMs,
                        now -> {
                            isDue = false;
                            flush(false);
                        });
            }
        }

        /** Before each checkpoint, too. */
        @Override
        public void flush(boolean isEnd) throws IOException, InterruptedException {
            Map<String, List<SeenEvent>> batch = new LinkedHashMap<>();
            for (Map.Entry<String, List<SeenEvent>> user : waiting.entrySet()) {
                batch.put(user.getKey(), user.getValue());
                if (batch.size() == BATCH_USERS) {
                    store.ingest(batch);
                    batch.clear();
                }
            }
            store.ingest(batch);
            waiting.clear();
            events = 0;
        }

        @Override
        public void close() throws IOException {
            store.close();
        }
    }
}
