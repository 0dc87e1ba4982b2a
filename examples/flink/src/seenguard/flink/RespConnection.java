package seenguard.flink;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;

/**
 * A connection to Redis that speaks RESP2, for one thread. Commands may be sent ahead of their answers (pipelining). A
 * text has a character for each byte, so that whatever Redis holds comes back as it was.
 */
final class RespConnection implements Closeable {
    private static final int TIMEOUT_MS = 10_000;
    private static final int DEFAULT_PORT = 6379;

    /** What Redis refuses; the connection can be used on. */
    static final class Refusal extends IOException {
        private static final long serialVersionUID = 1;

        Refusal(String message) {
            super(message);
        }
    }

    private final Socket socket = new Socket();
    private final InputStream in;
    private final OutputStream out;

    /** To {@code redis://[user:password@]host[:port]}. */
    RespConnection(URI address) throws IOException {
        try {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(TIMEOUT_MS);
            int port = address.getPort() < 0 ? DEFAULT_PORT : address.getPort();
            socket.connect(new InetSocketAddress(address.getHost(), port), TIMEOUT_MS);
            in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
            out = new BufferedOutputStream(socket.getOutputStream(), 1 << 16);
            if (address.getUserInfo() != null) {
                String[] login = address.getUserInfo().split(":", 2);
                call(
                        "AUTH",
                        login[0].isEmpty() ? "default" : login[0],
                        login.length > 1 ? login[1] : "");
            }
        } catch (IOException error) {
            socket.close();
            throw error;
        }
    }

    Object call(String... words) throws IOException {
        send(List.of(words));
        return receive();
    }

    void send(List<String> words) throws IOException {
        writeHeader('*', words.size());
        for (String word : words) {
            writeHeader('$', word.length());
            out.write(word.getBytes(ISO_8859_1));
            out.write('\r');
            out.write('\n');
        }
    }

    private void writeHeader(char type, int number) throws IOException {
        out.write((type + Integer.toString(number) + "\r\n").getBytes(ISO_8859_1));
    }

    /** The next answer: a String, a Long, a List of such, or null. Throws a {@link Refusal} if it is an error. */
    Object receive() throws IOException {
        out.flush();
        return read();
    }

    private Object read() throws IOException {
        String line = readLine();
        String rest = line.substring(1);
        return switch (line.charAt(0)) {
            case '+' -> rest;
            case '-' -> throw new Refusal(rest);
            case ':' -> Long.valueOf(rest);
            case '$' -> readText(Integer.parseInt(rest));
            case '*' -> readList(Integer.parseInt(rest));
            default -> throw new IOException("this is no answer of Redis: " + line);
        };
    }

    private String readText(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = in.readNBytes(length + 2);
        if (bytes.length < length + 2) {
            throw closed();
        }
        return new String(bytes, 0, length, ISO_8859_1);
    }

    private List<Object> readList(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        List<Object> list = new ArrayList<>(length);
        for (int index = 0; index < length; index++) {
            list.add(read());
        }
        return list;
    }

    private String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = readByte(); next != '\r'; next = readByte()) {
            line.append((char) next);
        }
        if (readByte() != '\n' || line.isEmpty()) {
            throw new IOException("this is no answer of Redis: " + line);
        }
        return line.toString();
    }

    private int readByte() throws IOException {
        int next = in.read();
        if (next < 0) {
            throw closed();
        }
        return next;
    }

    private static EOFException closed() {
        return new EOFException("Redis has closed the connection");
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
