import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs the example's function in an embedded Flink. Each line of the input is an impression, `USER ID`, the id as
 * base64. Prints each snapshot as `USER SNAPSHOT`.
 */
public class Job {
    public static void main(String[] args) throws Exception {
        List<Tuple2<String, String>> impressions = new ArrayList<>();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", -1);
            impressions.add(Tuple2.of(words[0], new String(Base64.getDecoder().decode(words[1]), UTF_8)));
        }
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(2);
        var snapshots = environment
            .fromData(impressions, Types.TUPLE(Types.STRING, Types.STRING))
            .keyBy(impression -> impression.f0, Types.STRING)
            .process(new SeenFunction())
            .returns(Types.TUPLE(Types.STRING, Types.STRING));
        try (CloseableIterator<Tuple2<String, String>> results = snapshots.executeAndCollect()) {
            while (results.hasNext()) {
                Tuple2<String, String> result = results.next();
                System.out.println(result.f0 + " " + result.f1);
            }
        }
    }
}
