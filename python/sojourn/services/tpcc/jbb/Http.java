import java.nio.charset.StandardCharsets;

/** Requests out of bytes, replies into bytes: as much of HTTP/1.1 as GET /q/{n} takes. */
final class Http {
    static final int HEAD_BYTES_MAX = 8192;
    static final long NONE = -1;
    static final long CHECK = -2;
    static final long NOT_GET = -3;

    /** A request: how many bytes it took, which query (or one of the above), and whether it is the last. */
    record Request(int used, long query, boolean isLast) {}

    private Http() {}

    /** The first request in `bytes`; null: only a part of one.
     *
     * @throws IllegalArgumentException it is no HTTP, has a body, or is too long.
     */
    static Request parse(byte[] bytes, int length) {
        int end = end(bytes, length);
        if (end < 0) {
            if (length > HEAD_BYTES_MAX) {
                throw new IllegalArgumentException("too long");
            }
            return null;
        }
        String head = new String(bytes, 0, end, StandardCharsets.ISO_8859_1);
        int first = head.indexOf("\r\n");
        String[] words = (first < 0 ? head : head.substring(0, first)).split(" ");
        if (words.length != 3 || !words[2].startsWith("HTTP/1.")) {
            throw new IllegalArgumentException("no HTTP");
        }
        boolean isLast = words[2].equals("HTTP/1.0");
        for (String field : head.substring(Math.max(0, first)).toLowerCase().split("\r\n")) {
            String value = field.substring(field.indexOf(':') + 1).trim();
            isLast |= field.startsWith("connection:") && value.equals("close");
            boolean isLong = field.startsWith("content-length:") && !value.equals("0");
            if (isLong || field.startsWith("transfer-encoding:")) {
                throw new IllegalArgumentException("a body");
            }
        }
        return new Request(end + 4, words[0].equals("GET") ? query(words[1]) : NOT_GET, isLast);
    }

    private static int end(byte[] bytes, int length) {
        for (int at = 0; at + 3 < length; at++) {
            if (bytes[at] == '\r' && bytes[at + 1] == '\n'
                    && bytes[at + 2] == '\r' && bytes[at + 3] == '\n') {
                return at;
            }
        }
        return -1;
    }

    private static long query(String path) {
        if (path.equals("/check")) {
            return CHECK;
        }
        if (!path.matches("/q/[0-9]{1,18}")) {
            return NONE;
        }
        return Long.parseLong(path.substring(3));
    }

    static byte[] reply(String status, String body) {
        String head = "HTTP/1.1 " + status + "\r\nContent-Type: text/plain\r\nContent-Length: ";
        return (head + body.length() + "\r\n\r\n" + body).getBytes(StandardCharsets.ISO_8859_1);
    }
}
