/**
 * What a transaction is asked to do, and what the company looks like at the start, by number.
 *
 * All of it follows from the seed in closed form: the same numbers as in
 * crates/query/src/work/silo/draw.rs and services/tpcc/draws.py.
 * Each warehouse trades alone here, as in SPECjbb.
 */
final class Draw {
    static final int DISTRICTS = 10;
    static final int LINES_MIN = 5;
    static final int LINES_MAX = 15;
    /** Hundredths of a percent in a whole. */
    static final long WHOLE = 10_000;

    private static final long GAMMA = 0x9E3779B97F4A7C15L;
    private static final long STREAMS = 0x515545_5259L;
    private static final long ASKED = 1L << 35;
    private static final long START = 1L << 36;
    private static final long STRIDE = 256;
    private static final long ORDER_STRIDE = 64;
    /** Ranges of the uneven draws for items, customers and names (TPC-C 2.1.6). */
    private static final int[] UNEVEN = {8191, 1023, 255};

    final int warehouses;
    final int items;
    final int customers;
    final int names;
    private final long asked;
    private final long start;
    private final long[] shifts = new long[UNEVEN.length];

    Draw(long seed, int warehouses, int items) {
        this.warehouses = warehouses;
        this.items = items;
        customers = items * 3 / 100;
        names = Math.min(customers, 1000);
        asked = at(seed ^ STREAMS, ASKED);
        start = at(seed ^ STREAMS, START);
        for (int kind = 0; kind < UNEVEN.length; kind++) {
            shifts[kind] = below(start, kind, UNEVEN[kind] + 1);
        }
    }

    /** SplitMix64's step. Source: Steele, Lea, Flood, OOPSLA 2014. */
    static long mix(long number) {
        long z = number + GAMMA;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    private static long at(long stream, long nth) {
        return mix(stream + GAMMA * nth);
    }

    private static int below(long stream, long nth, int limit) {
        return (int) Long.remainderUnsigned(at(stream, nth), limit);
    }

    private int uneven(long stream, long place, int kind, int limit) {
        long either = below(stream, place, UNEVEN[kind] + 1) | below(stream, place + 1, limit);
        return (int) ((either + shifts[kind]) % limit);
    }

    /** Draw `place` of a transaction, below `limit`. */
    int asked(long transaction, int place, int limit) {
        return below(asked, transaction * STRIDE + place, limit);
    }

    /** The item of a line of a new order. */
    int item(long transaction, int line) {
        return uneven(asked, transaction * STRIDE + 16 + 8L * line, 0, items);
    }

    /** The customer who orders, by number within the district. */
    int number(long transaction) {
        return uneven(asked, transaction * STRIDE + 7, 1, customers);
    }

    /** The last name of the customer who is looked for; -1: it is looked for by number. */
    int name(long transaction) {
        boolean isNumber = asked(transaction, 4, 100) >= 60;
        return isNumber ? -1 : uneven(asked, transaction * STRIDE + 5, 2, names);
    }

    /** Cents that an item costs. */
    int price(int item) {
        return 100 + below(start, (1L << 40) + item, 9901);
    }

    /** How many of an item there are at the start. */
    int stock(int warehouse, int item) {
        return 10 + below(start, (2L << 40) + (long) warehouse * items + item, 91);
    }

    /** Hundredths of a percent: tax of a district with its warehouse. */
    int tax(int district) {
        return below(start, (3L << 40) + district / DISTRICTS, 2001)
                + below(start, (3L << 40) + (1L << 32) + district, 2001);
    }

    int discount(int place) {
        return below(start, (4L << 40) + 4L * place, 5001);
    }

    boolean isBad(int place) {
        return below(start, (4L << 40) + 4L * place + 1, 10) == 0;
    }

    int nameOf(int place) {
        int number = place % customers;
        return number < names ? number : uneven(start, (4L << 40) + 4L * place + 2, 2, names);
    }

    /** Whose an order of the start is: each customer has one. */
    int buyer(int district, int order) {
        int step = customers % 7 == 0 ? 11 : 7;
        return (int) (((long) order * step + district) % customers);
    }

    boolean isDelivered(int order) {
        return order <= customers * 7 / 10;
    }

    int lines(int district, int order) {
        return LINES_MIN + below(start, base(district, order), LINES_MAX - LINES_MIN + 1);
    }

    int carrier(int district, int order) {
        return isDelivered(order) ? 1 + below(start, base(district, order) + 63, 10) : 0;
    }

    int itemOf(int district, int order, int line) {
        return below(start, base(district, order) + 1 + 3L * line, items);
    }

    int centsOf(int district, int order, int line) {
        long place = base(district, order) + 2 + 3L * line;
        return isDelivered(order) ? 0 : 1 + below(start, place, 999_999);
    }

    private long base(int district, int order) {
        return (5L << 40) + ((long) district * (customers + 1) + order) * ORDER_STRIDE;
    }
}
