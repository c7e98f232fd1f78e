import java.util.Map;
import java.util.TreeMap;

/** The command line: --name value. */
final class Options {
    final int threads;
    final int warehouses;
    final int items;
    final int batch;
    final long queries;
    final long seed;
    final String host;
    final int port;
    final double warm;
    final double measure;
    final String json;
    final boolean isSpoilt;
    private final Map<String, String> given = new TreeMap<>();

    Options(String[] words) {
        if (words.length % 2 != 0) {
            throw new IllegalArgumentException("give --name value, as often as you like");
        }
        for (int nth = 0; nth < words.length; nth += 2) {
            given.put(words[nth].replaceFirst("^--", ""), words[nth + 1]);
        }
        threads = (int) whole("threads", 1, 1, 1024);
        warehouses = (int) whole("warehouses", threads, 1, 1024);
        items = (int) whole("items", 20_000, 1000, 1_000_000);
        batch = (int) whole("batch", 80, 1, 100_000);
        queries = whole("queries", 10_000, 1, Long.MAX_VALUE / batch);
        seed = whole("seed", 1, 0, Long.MAX_VALUE);
        host = given.getOrDefault("host", "127.0.0.1");
        port = (int) whole("port", 0, 0, 65_535);
        warm = Double.parseDouble(given.getOrDefault("warm-s", "10"));
        measure = Double.parseDouble(given.getOrDefault("measure-s", "0"));
        json = given.getOrDefault("json", "");
        isSpoilt = given.getOrDefault("spoil", "no").equals("yes");
    }

    private long whole(String name, long otherwise, long least, long most) {
        String text = given.get(name);
        long value = text == null ? otherwise : Long.parseLong(text);
        if (value < least || value > most) {
            String what = name + " is " + value + "; give " + least + " to " + most;
            throw new IllegalArgumentException(what);
        }
        return value;
    }

    /** What was given, as a JSON object of texts. */
    String settings() {
        StringBuilder text = new StringBuilder("{");
        given.forEach((name, value) -> text.append(text.length() > 1 ? "," : "")
                .append('"').append(name).append("\":\"")
                .append(value.replace("\\", "\\\\").replace("\"", "\\\"")).append('"'));
        return text.append('}').toString();
    }
}
