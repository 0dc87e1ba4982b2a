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
 * Posts reports to the service's bulk route. The service has all records before a checkpoint when it completes.
 * Records that are read again after a failure change nothing there.
 */
final class ServiceSink implements Sink<Report> {
    private static final long serialVersionUID = 1;
    private static final Logger LOG = LoggerFactory.getLogger(ServiceSink.class);
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A batch is sent at whichever limit it reaches first. */
    private static final long DELAY_MS = 200;
    private static final int MAX_USERS = 500;
    private static final int MAX_BYTES = 1_000_000;

    private static final long TIMEOUT_MS = 30_000;
    private static final long MIN_PAUSE_MS = 100;
    private static final long MAX_PAUSE_MS = 5_000;

    private final URI route;
    private final String token;
    private final Properties kafka;
    private final String deadLetters;

    /** {@code token} and the topic {@code deadLetters} may be null. Without a topic refused records are counted and dropped. */
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

    private record Line(Report report, byte[] json) {}

    private final class Writer implements SinkWriter<Report> {
        private final HttpClient client =
                HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .connectTimeout(Duration.ofMillis(MAX_PAUSE_MS))
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
            if (bytes + line.json.length > MAX_BYTES || isOneMore && users.size() == MAX_USERS) flush(false);
            lines.add(line);
            users.add(report.user());
            bytes += line.json.length;
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

        /** Posts a batch, or its halves one after the other where the service refuses its size, so that each user's order stays. */
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
            JsonNode result = JSON.readTree(response.body());
            for (JsonNode line : result.required("refused"))
                refuse(batch.get(line.required("line").intValue()), line.required("code").textValue());
            metrics.getNumRecordsSendCounter().inc(result.required("taken").intValue());
        }

        private void refuse(Line line, String code) {
            Report report = line.report;
            LOG.warn("refused: {}-{}, offset {}: {}", report.topic(), report.partition(), report.offset(), code);
            metrics.getNumRecordsSendErrorsCounter().inc();
            if (letters != null) letters.write(report, code);
        }

        /** Blocks until the service has responded to the lines, so that no later records are read in the meantime. */
        private HttpResponse<byte[]> send(List<Line> batch) throws IOException, InterruptedException {
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            batch.forEach(line -> body.writeBytes(line.json));
            HttpRequest.Builder request =
                    HttpRequest.newBuilder(route)
                            .timeout(Duration.ofMillis(TIMEOUT_MS))
                            .header("content-type", "application/x-ndjson")
                            .POST(BodyPublishers.ofByteArray(body.toByteArray()));
            if (token != null) request.header("authorization", "Bearer " + token);
            for (long pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
                String problem;
                CompletableFuture<HttpResponse<byte[]>> exchange =
                        client.sendAsync(request.build(), BodyHandlers.ofByteArray());
                try {
                    // The request's own timeout ends with the response's headers.
                    HttpResponse<byte[]> response = exchange.get(TIMEOUT_MS, TimeUnit.MILLISECONDS);
                    int status = response.statusCode();
                    if (status == 200 || status == 413) return response;
                    problem = status + " " + new String(response.body(), UTF_8);
                    // A wrong address or token stays wrong: do not retry.
                    if (status < 500 && status != 429) throw new IOException(route + ": " + problem);
                } catch (ExecutionException | TimeoutException failed) {
                    problem = failed.toString();
                } finally {
                    exchange.cancel(true);
                }
                LOG.warn("the service does not accept reports, next attempt in {} ms: {}", pauseMs, problem);
                Thread.sleep(pauseMs);
            }
        }

        @Override
        public void close() {
            if (letters != null) letters.close();
        }
    }
}
