package seenguard.flink;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ParameterTool;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;

/** The job: reports from a topic of Kafka, by user, to seenguard-server. README.md has its arguments. */
public final class SeenJob {
    private SeenJob() {}

    @SuppressWarnings("deprecation") // OffsetResetStrategy, which the connector still requires.
    public static void main(String[] args) throws Exception {
        ParameterTool arguments = ParameterTool.fromArgs(args);
        Properties kafka = new Properties();
        if (arguments.has("kafka-properties"))
            kafka.putAll(ParameterTool.fromPropertiesFile(arguments.get("kafka-properties")).toMap());
        kafka.put("bootstrap.servers", arguments.getRequired("kafka"));
        KafkaSource<Report> reports =
                KafkaSource.<Report>builder()
                        .setProperties(kafka)
                        .setProperty("isolation.level", "read_committed")
                        .setTopics(arguments.get("kafka-topic", "seenguard-reports"))
                        .setGroupId(arguments.get("group", "seenguard"))
                        .setStartingOffsets(OffsetsInitializer.committedOffsets(OffsetResetStrategy.EARLIEST))
                        .setDeserializer(new Report.Schema())
                        .build();
        ServiceSink service =
                new ServiceSink(
                        URI.create(arguments.getRequired("service") + "/v1/impressions"),
                        tokenOf(arguments),
                        kafka,
                        arguments.get("dead-letters"));
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment(checkpoints(arguments));
        environment
                .fromSource(reports, WatermarkStrategy.noWatermarks(), "reports")
                .uid("reports")
                .keyBy(Report::user)
                .sinkTo(service)
                .name("service")
                .uid("service");
        environment.execute("Seenguard");
    }

    /** A checkpoint waits until the service has all records before it. In an outage only the checkpoint fails. */
    private static Configuration checkpoints(ParameterTool arguments) {
        Duration interval = Duration.ofMillis(arguments.getLong("checkpoint-ms", 10_000));
        return new Configuration()
                .set(CheckpointingOptions.CHECKPOINTING_INTERVAL, interval)
                .set(CheckpointingOptions.CHECKPOINTING_TIMEOUT, Duration.ofMinutes(10))
                .set(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, Integer.MAX_VALUE)
                // Records that are read again change nothing, so barriers need no alignment.
                .set(CheckpointingOptions.CHECKPOINTING_CONSISTENCY_MODE, CheckpointingMode.AT_LEAST_ONCE)
                .set(
                        CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
                        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
    }

    private static String tokenOf(ParameterTool arguments) throws IOException {
        return arguments.has("token-file") ? Files.readString(Path.of(arguments.get("token-file"))).strip() : null;
    }
}
