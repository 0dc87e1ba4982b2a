import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Writes each line of standard input, a user and what a device of theirs has posted, to the broker. */
public class Produce {
    public static void main(String[] arguments) throws Exception {
        Reports reports = Reports.to(arguments[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", 2);
            reports.write(parts[0], parts[1].getBytes(UTF_8));
        }
        reports.producer().close();
    }
}
