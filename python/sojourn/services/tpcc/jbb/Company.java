/** All warehouses; a transaction is of one of them, and draws which. */
final class Company {
    final Draw draw;
    private final int batch;
    private final Warehouse[] warehouses;

    Company(Options options) {
        draw = new Draw(options.seed, options.warehouses, options.items);
        batch = options.batch;
        warehouses = new Warehouse[options.warehouses];
        for (int nth = 0; nth < warehouses.length; nth++) {
            warehouses[nth] = new Warehouse(draw, nth);
        }
    }

    /** A query: so many transactions of the stream, one after the other. */
    String answer(long query) {
        Told told = new Told();
        for (long nth = query * batch; nth < (query + 1) * batch; nth++) {
            warehouses[draw.asked(nth, 1, warehouses.length)].act(nth, told);
        }
        return told.answer(query, batch);
    }

    /** Whether the books agree, and what was done, as members of a JSON object. */
    String check() {
        String wrong = "";
        long orders = 0;
        long delivered = 0;
        long lapsed = 0;
        long payments = 0;
        long quantity = 0;
        for (Warehouse one : warehouses) {
            synchronized (one) {
                wrong = wrong.isEmpty() ? one.wrong() : wrong;
                orders += one.ordered;
                delivered += one.delivered;
                lapsed += one.lapsed;
                payments += one.payments;
                quantity += one.quantity;
            }
        }
        return "\"state\":\"" + (wrong.isEmpty() ? "holds" : "broken") + "\",\"wrong\":"
                + (wrong.isEmpty() ? "null" : "\"" + wrong + "\"")
                + ",\"orders\":" + orders + ",\"delivered\":" + delivered
                + ",\"lapsed\":" + lapsed + ",\"payments\":" + payments
                + ",\"quantity\":" + quantity;
    }

    /** Breaks the books on purpose, for who tests whether that is found. */
    void spoil() {
        synchronized (warehouses[0]) {
            warehouses[0].stock[0].quantity++;
        }
    }
}
