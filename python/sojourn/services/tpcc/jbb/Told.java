/** What transactions said, folded into two numbers; crates/query/src/work/silo/trade.rs. */
final class Told {
    private long fixed;
    private long seen;

    /** What follows from the inputs and from what never changes. */
    void fixed(long... words) {
        for (long word : words) {
            fixed = Draw.mix(fixed ^ word);
        }
    }

    /** What follows from all that came before. */
    void seen(long... words) {
        for (long word : words) {
            seen = Draw.mix(seen ^ word);
        }
    }

    /** An answer; all have the same length. */
    String answer(long query, int batch) {
        return "query " + padded(query, 10) + " batch " + padded(batch, 6)
                + " fixed " + hex(fixed) + " seen " + hex(seen) + "\n";
    }

    private static String padded(long number, int width) {
        String text = Long.toString(number);
        return " ".repeat(Math.max(0, width - text.length())) + text;
    }

    private static String hex(long number) {
        String text = Long.toHexString(number);
        return "0".repeat(16 - text.length()) + text;
    }
}
