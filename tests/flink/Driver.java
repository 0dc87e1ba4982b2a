package seenguard.flink;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import net.jpountz.xxhash.XXHashFactory;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** Runs one command a line on a shard or a chain, and answers with one line. Ids are the base64 of their bytes. */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();

    private NativeShard shard;
    private ChainOptions options;
    private ShardChain chain;

    private Driver() {}

    public static void main(String[] args) throws IOException {
        Driver driver = new Driver();
        PrintStream out = new PrintStream(System.out, false, ISO_8859_1);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, ISO_8859_1));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(driver.run(line.split(" ", -1)));
        }
        out.flush();
    }

    private String run(String[] words) throws IOException {
        return switch (words[0]) {
            case "seal" -> seal(Base64.getDecoder().decode(words[1]));
            case "decode" -> decode(words[1]);
            case "begin" -> {
                shard =
                        new NativeShard(
                                Integer.parseInt(words[1]),
                                Integer.parseInt(words[2]),
                                Long.parseUnsignedLong(words[3]),
                                Long.parseLong(words[4]),
                                Long.parseLong(words[5]));
                yield "";
            }
            case "insert" -> forEach(words, shard::insert);
            case "contains" -> forEach(words, shard::contains);
            case "encode" -> shard.encode();
            case "options" -> {
                options =
                        new ChainOptions(
                                Integer.parseInt(words[1]),
                                Integer.parseInt(words[2]),
                                Double.parseDouble(words[3]),
                                Long.parseUnsignedLong(words[4]),
                                Integer.parseInt(words[5]));
                yield "";
            }
            case "restore" -> {
                chain = new ShardChain(JSON.readValue(words[1], Stored.class).toSeen(), options);
                yield String.join(" ", chain.rejected());
            }
            case "ingest" -> {
                String id = new String(Base64.getDecoder().decode(words[2]), ISO_8859_1);
                chain.ingest(
                        new SeenEvent(
                                "ada",
                                words[1].equals("unseen"),
                                id,
                                Long.parseLong(words[3]),
                                Long.parseLong(words[4])));
                yield "";
            }
            case "stored" ->
                    JSON.writeValueAsString(Stored.of(chain.stored(Long.parseLong(words[1]))));
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    /** What a store holds, as JSON has it. */
    private record Stored(List<String> shards, Map<String, String> fields) {
        static Stored of(StoredSeen seen) {
            return new Stored(seen.shards(), seen.fields());
        }

        StoredSeen toSeen() {
            return new StoredSeen(shards, fields);
        }
    }

    /** A body with its checksum, as text. */
    private static String seal(byte[] body) {
        int checksum =
                (int) XXHashFactory.fastestJavaInstance().hash64().hash(body, 0, body.length, 0);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(body);
        for (int place = 0; place < 4; place++) {
            bytes.write(checksum >>> 8 * place);
        }
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }

    private String decode(String text) {
        try {
            shard = NativeShard.decode(text);
        } catch (IllegalArgumentException error) {
            return error.getMessage();
        }
        return String.join(
                " ",
                Integer.toString(shard.bits),
                Integer.toString(shard.hashes),
                Long.toUnsignedString(shard.seed),
                Long.toString(shard.epoch),
                Long.toString(shard.expires),
                Long.toString(shard.count()));
    }

    private interface Question {
        boolean ask(byte[] id);
    }

    private static String forEach(String[] words, Question question) {
        StringBuilder answers = new StringBuilder();
        for (int index = 1; index < words.length; index++) {
            answers.append(question.ask(Base64.getDecoder().decode(words[index])) ? '1' : '0');
        }
        return answers.toString();
    }
}
