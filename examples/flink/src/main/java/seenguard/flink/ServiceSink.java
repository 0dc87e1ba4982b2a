package seenguard.flink;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.metrics.groups.SinkWriterMetricGroup;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives reports to the service's bulk route. What was read before a checkpoint is with the service when it completes;
 * what is read again after a failure changes nothing there.
 */
final class ServiceSink implements Sink<Report> {
    private static final long serialVersionUID = 1;
    private static final Logger LOG = LoggerFactory.getLogger(ServiceSink.class);
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A request ends with whichever comes first. */
    private static final long DELAY_MS = 200;
    private static final int MOST_USERS = 500;
    private static final int MOST_BYTES = 1_000_000;

    private static final long TIMEOUT_MS = 30_000;
    private static final long SHORTEST_PAUSE_MS = 100;
    private static final long LONGEST_PAUSE_MS = 5_000;

    private final URI route;
    private final String token;
    private final Properties kafka;
    private final String deadLetters;

    /** {@code token} and {@code deadLetters}, a topic, may be null: refused records are counted and left out then. */
    ServiceSink(URI route, String token, Properties kafka, String deadLetters) {
        this.route = route;
        this.token = token;
        this.kafka = kafka;
        this.deadLetters = deadLetters;
    }

    @Override
    public SinkWriter<Report> createWriter(WriterInitContext context) {
        return new Writer(context.getProcessingTimeService(), context.metricGroup());
    }

    private record Line(Report report, byte[] text) {}

    private final class Writer implements SinkWriter<Report> {
        private final HttpClient client =
                HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .connectTimeout(Duration.ofMillis(LONGEST_PAUSE_MS))
                        .build();
        private final DeadLetters letters = deadLetters == null ? null : new DeadLetters(kafka, deadLetters);
        private final ProcessingTimeService time;
        private final SinkWriterMetricGroup metrics;
        private final List<Line> lines = new ArrayList<>();
        private final Set<String> users = new HashSet<>();
        private int bytes;
        private boolean isDue;

        Writer(ProcessingTimeService time, SinkWriterMetricGroup metrics) {
            this.time = time;
            this.metrics = metrics;
        }

        @Override
        public void write(Report report, Context context) throws IOException, InterruptedException {
            Line line = new Line(report, report.line());
            boolean isOneMore = !users.contains(report.user());
            if (bytes + line.text.length > MOST_BYTES || isOneMore && users.size() == MOST_USERS) flush(false);
            lines.add(line);
            users.add(report.user());
            bytes += line.text.length;
            if (isDue) return;
            isDue = true;
            time.registerTimer(
                    time.getCurrentProcessingTime() + DELAY_MS,
                    now -> {
                        isDue = false;
                        flush(false);
                    });
        }

        /** Flink calls it before each checkpoint, too. */
        @Override
        public void flush(boolean isEnd) throws IOException, InterruptedException {
            post(lines);
            if (letters != null) letters.flush();
            lines.clear();
            users.clear();
            bytes = 0;
        }

        /** In halves where the service refuses that number of ids, one after the other: a user's order stays. */
        private void post(List<Line> batch) throws IOException, InterruptedException {
            if (batch.isEmpty()) return;
            HttpResponse<byte[]> response = send(batch);
            if (response.statusCode() == 413) {
                int half = batch.size() / 2;
                if (half == 0) {
                    refuse(batch.get(0), "too-large");
                } else {
                    post(batch.subList(0, half));
                    post(batch.subList(half, batch.size()));
                }
                return;
            }
            JsonNode answer = JSON.readTree(response.body());
            for (JsonNode line : answer.required("refused"))
                refuse(batch.get(line.required("line").intValue()), line.required("code").textValue());
            metrics.getNumRecordsSendCounter().inc(answer.required("taken").intValue());
        }

        private void refuse(Line line, String code) {
            Report report = line.report;
            LOG.warn("refused: {}-{}, offset {}: {}", report.topic(), report.partition(), report.offset(), code);
            metrics.getNumRecordsSendErrorsCounter().inc();
            if (letters != null) letters.write(report, code);
        }

        /** Stands still until the service answers for the lines: nothing behind them is read meanwhile. */
        private HttpResponse<byte[]> send(List<Line> batch) throws IOException, InterruptedException {
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            batch.forEach(line -> body.writeBytes(line.text));
            HttpRequest.Builder request =
                    HttpRequest.newBuilder(route)
                            .timeout(Duration.ofMillis(TIMEOUT_MS))
                            .header("content-type", "application/x-ndjson")
                            .POST(BodyPublishers.ofByteArray(body.toByteArray()));
            if (token != null) request.header("authorization", "Bearer " + token);
            for (long pauseMs = SHORTEST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
                String problem;
                CompletableFuture<HttpResponse<byte[]>> exchange =
                        client.sendAsync(request.build(), BodyHandlers.ofByteArray());
                try {
                    // The request's own timeout ends with the answer's headers.
                    HttpResponse<byte[]> response = exchange.get(TIMEOUT_MS, TimeUnit.MILLISECONDS);
                    int status = response.statusCode();
                    if (status == 200 || status == 413) return response;
                    problem = status + " " + new String(response.body(), UTF_8);
                    // What is wrong with the address or the token does not go away by waiting.
                    if (status < 500 && status != 429) throw new IOException(route + ": " + problem);
                } catch (ExecutionException | TimeoutException failed) {
                    problem = failed.toString();
                } finally {
                    exchange.cancel(true);
                }
                LOG.warn("the service takes nothing, the next try is in {} ms: {}", pauseMs, problem);
                Thread.sleep(pauseMs);
            }
        }

        @Override
        public void close() {
            if (letters != null) letters.close();
        }
    }
}
