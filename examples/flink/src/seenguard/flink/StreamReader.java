package seenguard.flink;

import org.apache.flink.connector.base.source.reader.RecordsBySplits;
import org.apache.flink.connector.base.source.reader.RecordsWithSplitIds;
import org.apache.flink.connector.base.source.reader.splitreader.SplitReader;
import org.apache.flink.connector.base.source.reader.splitreader.SplitsChange;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads the entries of a reader's streams, all by one XREAD. Flink runs it in a thread of its own. */
final class StreamReader implements SplitReader<StreamReader.Entry, StreamSplit> {
    /** Entries of each stream at a time. */
    private static final String BATCH = "1000";

    /** For how long Redis waits for entries: as long waits who wants to add a stream or to end. */
    private static final String WAIT_MS = "200";

    /** An entry's id and its fields' names and values, in turn. */
    record Entry(String id, List<?> fields) {}

    private final RespConnection redis;
    private final Map<String, String> lastIds = new LinkedHashMap<>();

    StreamReader(URI address) throws IOException {
        redis = new RespConnection(address);
    }

    @Override
    public void handleSplitsChanges(SplitsChange<StreamSplit> change) {
        change.splits().forEach(split -> lastIds.put(split.key(), split.lastId()));
    }

    @Override
    public RecordsWithSplitIds<Entry> fetch() throws IOException {
        List<String> command =
                new ArrayList<>(List.of("XREAD", "COUNT", BATCH, "BLOCK", WAIT_MS, "STREAMS"));
        command.addAll(lastIds.keySet());
        command.addAll(lastIds.values());
        redis.send(command);
        Map<String, Collection<Entry>> entries = new HashMap<>();
        if (redis.receive() instanceof List<?> streams) {
            for (Object stream : streams) {
                String key = (String) ((List<?>) stream).get(0);
                List<Entry> read = entriesOf((List<?>) ((List<?>) stream).get(1));
                lastIds.put(key, read.get(read.size() - 1).id());
                entries.put(key, read);
            }
        }
        return new RecordsBySplits<>(entries, Set.of());
    }

    private static List<Entry> entriesOf(List<?> answer) {
        List<Entry> entries = new ArrayList<>(answer.size());
        for (Object entry : answer) {
            List<?> parts = (List<?>) entry;
            entries.add(new Entry((String) parts.get(0), (List<?>) parts.get(1)));
        }
        return entries;
    }

    /** The wait for entries is short. */
    @Override
    public void wakeUp() {}

    @Override
    public void close() throws IOException {
        redis.close();
    }
}
