package seenguard.flink;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ParameterTool;

import java.net.URI;
import java.util.List;

/** The job: events from Redis Streams, keyed by user, into each user's list of shards. README.md has its arguments. */
public final class SeenJob {
    private SeenJob() {}

    /** Runs until it is stopped. */
    public static void main(String[] args) throws Exception {
        ParameterTool arguments = ParameterTool.fromArgs(args);
        URI redis = URI.create(arguments.getRequired("redis"));
        List<String> streams = List.of(arguments.getRequired("streams").split(","));
        SeenSink lists =
                new SeenSink(
                        redis,
                        arguments.get("prefix", "seen:"),
                        ChainOptions.from(arguments),
                        arguments.getLong("delay-ms", 200));

        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment();
        // Events that are read again change nothing, so barriers need not wait for each other.
        environment.enableCheckpointing(
                arguments.getLong("checkpoint-ms", 1000), CheckpointingMode.AT_LEAST_ONCE);
        environment
                .fromSource(
                        new EventSource(redis, streams),
                        WatermarkStrategy.noWatermarks(),
                        "streams")
                .uid("streams")
                .keyBy(SeenEvent::user)
                .sinkTo(lists)
                .name("lists")
                .uid("lists");
        environment.execute("Seenguard");
    }
}
