package seenguard.flink;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes records that the service refuses into a topic, unchanged, with their origin and the code as headers. */
final class DeadLetters {
    private final String topic;
    private final KafkaProducer<byte[], byte[]> producer;
    private final List<Future<?>> unacknowledged = new ArrayList<>();

    DeadLetters(Properties kafka, String topic) {
        this.topic = topic;
        // By default all in-sync replicas acknowledge.
        producer = new KafkaProducer<>(kafka, new ByteArraySerializer(), new ByteArraySerializer());
    }

    void write(Report report, String code) {
        ProducerRecord<byte[], byte[]> letter = new ProducerRecord<>(topic, report.key(), report.value());
        report.headers().forEach(letter.headers()::add);
        Map<String, Object> origin =
                Map.of(
                        "seenguard-topic", report.topic(),
                        "seenguard-partition", report.partition(),
                        "seenguard-offset", report.offset(),
                        "seenguard-timestamp", report.timestamp(),
                        "seenguard-code", code);
        origin.forEach((name, value) -> letter.headers().add(name, value.toString().getBytes(UTF_8)));
        unacknowledged.add(producer.send(letter));
    }

    void flush() throws IOException, InterruptedException {
        try {
            for (Future<?> letter : unacknowledged) letter.get();
        } catch (ExecutionException failed) {
            throw new IOException("cannot write a dead letter to the topic " + topic, failed.getCause());
        }
        unacknowledged.clear();
    }

    /** Drops what is not acknowledged yet: it is read, and refused, again. */
    void close() {
        producer.close(Duration.ZERO);
    }
}
