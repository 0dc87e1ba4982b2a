import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * Runs Guava and the example's class. Each line of the input is a command: `new CAPACITY RATE` and `read FILTER` begin
 * the next filter, `put ID` inserts into it, `ask ID` asks all filters, `held NAMES` says what the device holds;
 * filters and ids are base64. Prints the snapshot, the last filter first, and a line of answers.
 */
public class Filters {
    private final List<BloomFilter<CharSequence>> filters = new ArrayList<>();
    private final StringBuilder answers = new StringBuilder();
    private String held = "";

    public static void main(String[] args) throws IOException {
        Filters filters = new Filters();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            filters.execute(line.split(" ", -1));
        }
        System.out.println(Snapshot.of(filters.filters, filters.held));
        System.out.println(filters.answers);
    }

    private void execute(String[] words) throws IOException {
        switch (words[0]) {
            case "new" -> filters.add(0, BloomFilter.create(
                Funnels.stringFunnel(UTF_8), Integer.parseInt(words[1]), Double.parseDouble(words[2])));
            case "read" -> filters.add(0, BloomFilter.readFrom(
                new ByteArrayInputStream(decode(words[1])), Funnels.stringFunnel(UTF_8)));
            case "put" -> filters.get(0).put(new String(decode(words[1]), UTF_8));
            case "ask" -> {
                String id = new String(decode(words[1]), UTF_8);
                answers.append(filters.stream().anyMatch(filter -> filter.mightContain(id)) ? '1' : '0');
            }
            case "held" -> held = words[1];
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private static byte[] decode(String base64) {
        return Base64.getDecoder().decode(base64);
    }
}
