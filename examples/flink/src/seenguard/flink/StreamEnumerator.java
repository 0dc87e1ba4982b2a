package seenguard.flink;

import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

import java.util.ArrayList;
import java.util.List;

/**
 * Gives each stream to a reader, the readers in turn. Which streams there are is known from the start. What a reader
 * has is in its own checkpoint, and is handed out again by Flink when the parallelism changes.
 */
final class StreamEnumerator implements SplitEnumerator<StreamSplit, List<StreamSplit>> {
    private final SplitEnumeratorContext<StreamSplit> context;
    private final List<StreamSplit> unassigned;

    StreamEnumerator(SplitEnumeratorContext<StreamSplit> context, List<StreamSplit> unassigned) {
        this.context = context;
        this.unassigned = new ArrayList<>(unassigned);
    }

    @Override
    public void start() {}

    @Override
    public void addReader(int subtask) {
        if (context.registeredReaders().size() == context.currentParallelism()) {
            assign();
        }
    }

    /** What a reader had that has failed, and no checkpoint knows of. */
    @Override
    public void addSplitsBack(List<StreamSplit> splits, int subtask) {
        unassigned.addAll(splits);
    }

    private void assign() {
        for (int index = 0; index < unassigned.size(); index++) {
            context.assignSplit(unassigned.get(index), index % context.currentParallelism());
        }
        unassigned.clear();
    }

    @Override
    public void handleSplitRequest(int subtask, String host) {}

    @Override
    public List<StreamSplit> snapshotState(long checkpoint) {
        return List.copyOf(unassigned);
    }

    @Override
    public void close() {}
}
