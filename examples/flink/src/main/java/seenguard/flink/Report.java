package seenguard.flink;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** A record of the topic. The job copies it; the service checks whether it is a report of its user. */
public record Report(
        byte[] key,
        byte[] value,
        Map<String, byte[]> headers,
        String topic,
        int partition,
        long offset,
        long timestamp) {

    /** The key as a string; "" where it is not UTF-8, which the service refuses. */
    public String user() {
        String user = key == null ? "" : new String(key, UTF_8);
        return Arrays.equals(user.getBytes(UTF_8), key) ? user : "";
    }

    /**
     * Returns the record as a line of the bulk route. A value without the header was posted by a device. Each field is
     * written, so that a field which a value injects is a duplicate, which the service refuses.
     */
    byte[] line() {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        line.writeBytes("{\"user\":\"".getBytes(UTF_8));
        line.writeBytes(JsonStringEncoder.getInstance().quoteAsUTF8(user()));
        line.writeBytes("\",\"form\":".getBytes(UTF_8));
        line.writeBytes(bytesOrNull(headers.get("seenguard")));
        line.writeBytes((",\"at\":" + (timestamp < 0 ? "null" : timestamp)).getBytes(UTF_8));
        line.writeBytes(",\"report\":".getBytes(UTF_8));
        line.writeBytes(bytesOrNull(value));
        line.writeBytes("}\n".getBytes(UTF_8));
        byte[] bytes = line.toByteArray();
        // JSON has line feeds only between its tokens, where a space means the same.
        for (int index = 0; index < bytes.length - 1; index++) if (bytes[index] == '\n') bytes[index] = ' ';
        return bytes;
    }

    private static byte[] bytesOrNull(byte[] bytes) {
        return bytes == null ? "null".getBytes(UTF_8) : bytes;
    }

    static final class Schema implements KafkaRecordDeserializationSchema<Report> {
        private static final long serialVersionUID = 1;

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Report> out) {
            Map<String, byte[]> headers = new LinkedHashMap<>();
            record.headers().forEach(header -> headers.put(header.key(), header.value()));
            out.collect(
                    new Report(
                            record.key(), record.value(), headers,
                            record.topic(), record.partition(), record.offset(), record.timestamp()));
        }

        @Override
        public TypeInformation<Report> getProducedType() {
            return TypeInformation.of(Report.class);
        }
    }
}
