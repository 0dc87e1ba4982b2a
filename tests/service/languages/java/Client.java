import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;

/** Posts standard input through the client: the service's address, the user, the route, Seen-Held and Seen-Pending. */
public class Client {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> headers = new HashMap<>();
        if (!arguments[3].isEmpty()) headers.put("Seen-Held", arguments[3]);
        if (!arguments[4].isEmpty()) headers.put("Seen-Pending", arguments[4]);
        Seenguard seenguard = new Seenguard(HttpClient.newHttpClient(), URI.create(arguments[0]));
        String body = new String(System.in.readAllBytes(), UTF_8);
        HttpResponse<String> response = seenguard.post(arguments[1], arguments[2], body, headers);
        System.out.write((response.statusCode() + "\n" + response.body()).getBytes(UTF_8));
        System.out.flush();
    }
}
