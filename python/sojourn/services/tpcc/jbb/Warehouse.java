import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/**
 * One warehouse with its districts, customers, stock and orders: objects, as a Java program has them.
 *
 * Whoever trades here holds its monitor, so transactions of a warehouse come one after the other.
 * Orders and payments come and the oldest go, so that there are as many after an hour as after a
 * minute; what is left of the old ones is the collector's.
 */
final class Warehouse {
    private static final int RECENT = 20;
    private static final int REFILL = 91;
    private static final int LEAST = 10;

    static final class Customer {
        final int place;
        final int discount;
        final boolean isBad;
        long balance = -1000;
        long paid = 1000;
        long notes;
        Order last;

        Customer(Draw draw, int place) {
            this.place = place;
            discount = draw.discount(place);
            isBad = draw.isBad(place);
        }
    }

    static final class Stock {
        int quantity;
        long sold;
    }

    record Line(int item, int quantity, long cents) {}

    record Payment(Customer by, long cents) {}

    static final class Order {
        final long number;
        final Customer customer;
        final List<Line> lines;
        int carrier;

        Order(long number, Customer customer, List<Line> lines) {
            this.number = number;
            this.customer = customer;
            this.lines = lines;
        }

        long cents() {
            return lines.stream().mapToLong(Line::cents).sum();
        }
    }

    static final class District {
        final int number;
        final List<Customer> customers = new ArrayList<>();
        final List<List<Customer>> named = new ArrayList<>();
        final TreeMap<Long, Order> orders = new TreeMap<>();
        final ArrayDeque<Order> waiting = new ArrayDeque<>();
        final ArrayDeque<Payment> payments = new ArrayDeque<>();
        final int tax;
        long paid;
        long next;

        District(Draw draw, int number) {
            this.number = number;
            tax = draw.tax(number);
            paid = 1000L * draw.customers;
            for (int name = 0; name < draw.names; name++) {
                named.add(new ArrayList<>());
            }
            for (int nth = 0; nth < draw.customers; nth++) {
                Customer one = new Customer(draw, number * draw.customers + nth);
                customers.add(one);
                named.get(draw.nameOf(one.place)).add(one);
                payments.add(new Payment(one, 1000));
            }
            for (next = 1; next <= draw.customers; next++) {
                add(begun(draw, (int) next));
            }
        }

        private Order begun(Draw draw, int order) {
            List<Line> lines = new ArrayList<>();
            for (int line = 0; line < draw.lines(number, order); line++) {
                int item = draw.itemOf(number, order, line);
                lines.add(new Line(item, 5, draw.centsOf(number, order, line)));
            }
            Order made = new Order(order, customers.get(draw.buyer(number, order)), lines);
            made.carrier = draw.carrier(number, order);
            return made;
        }

        private void add(Order order) {
            orders.put(order.number, order);
            order.customer.last = order;
            if (order.carrier == 0) {
                waiting.add(order);
            }
        }

        /** Takes the oldest order out; whether it was still waiting. */
        private boolean takeOldest() {
            Order gone = orders.pollFirstEntry().getValue();
            if (gone.customer.last == gone) {
                gone.customer.last = null;
            }
            boolean isWaiting = waiting.peek() == gone;
            if (isWaiting) {
                waiting.remove();
            }
            return isWaiting;
        }
    }

    private final Draw draw;
    final int number;
    final Stock[] stock;
    final District[] districts = new District[Draw.DISTRICTS];
    long paid;
    long ordered;
    long delivered;
    long deliveredCents;
    long lapsed;
    long payments;
    long quantity;

    Warehouse(Draw draw, int number) {
        this.draw = draw;
        this.number = number;
        stock = new Stock[draw.items];
        for (int item = 0; item < draw.items; item++) {
            stock[item] = new Stock();
            stock[item].quantity = draw.stock(number, item);
        }
        for (int nth = 0; nth < districts.length; nth++) {
            districts[nth] = new District(draw, number * Draw.DISTRICTS + nth);
            paid += districts[nth].paid;
        }
    }

    /** One transaction of the standard mix, from its inputs to its end. */
    synchronized void act(long nth, Told told) {
        District own = districts[draw.asked(nth, 2, Draw.DISTRICTS)];
        int kind = draw.asked(nth, 0, 100);
        if (kind < 45) {
            order(nth, own, told);
        } else if (kind < 88) {
            pay(nth, own, told);
        } else if (kind < 92) {
            status(nth, own, told);
        } else if (kind < 96) {
            deliver(1 + draw.asked(nth, 9, 10), told);
        } else {
            level(own, 10 + draw.asked(nth, 9, 11), told);
        }
    }

    private Customer who(long nth, District home) {
        int name = draw.name(nth);
        if (name < 0) {
            return home.customers.get(draw.number(nth));
        }
        List<Customer> all = home.named.get(name);
        return all.get((all.size() - 1) / 2);
    }

    private void order(long nth, District own, Told told) {
        Customer buyer = own.customers.get(draw.number(nth));
        told.fixed(1, buyer.place);
        told.seen(own.next);
        int span = Draw.LINES_MAX - Draw.LINES_MIN + 1;
        int count = Draw.LINES_MIN + draw.asked(nth, 9, span);
        boolean isVoid = draw.asked(nth, 10, 100) == 0;
        List<Line> lines = new ArrayList<>(count);
        List<Integer> before = new ArrayList<>(count);
        for (int line = 0; line < (isVoid ? count - 1 : count); line++) {
            int item = draw.item(nth, line);
            int wanted = 1 + draw.asked(nth, 16 + 8 * line + 4, 10);
            Stock shelf = stock[item];
            before.add(shelf.quantity);
            int had = shelf.quantity;
            shelf.quantity = had - wanted + (had < wanted + LEAST ? REFILL : 0);
            told.seen(shelf.quantity);
            lines.add(new Line(item, wanted, (long) wanted * draw.price(item)));
        }
        if (isVoid) { // the last item does not exist: what was taken goes back, last first
            for (int line = lines.size() - 1; line >= 0; line--) {
                stock[lines.get(line).item()].quantity = before.get(line);
            }
            told.fixed(0);
            return;
        }
        Order made = new Order(own.next, buyer, lines);
        long rate = (Draw.WHOLE - buyer.discount) * (Draw.WHOLE + own.tax);
        told.fixed(made.cents() * rate / (Draw.WHOLE * Draw.WHOLE));
        for (Line line : lines) {
            stock[line.item()].sold += line.quantity();
            quantity += line.quantity();
        }
        lapsed += own.takeOldest() ? 1 : 0;
        own.add(made);
        own.next++;
        ordered++;
    }

    private void pay(long nth, District own, Told told) {
        Customer payer = who(nth, own);
        long cents = 100 + draw.asked(nth, 9, 499_901);
        told.fixed(2, payer.place, cents);
        paid += cents;
        own.paid += cents;
        payer.balance -= cents;
        payer.paid += cents;
        if (payer.isBad) {
            payer.notes = Draw.mix(payer.notes ^ own.number ^ cents);
        }
        own.payments.remove();
        own.payments.add(new Payment(payer, cents));
        payments++;
        told.seen(paid, own.paid, payer.balance, payer.notes);
    }

    private void status(long nth, District home, Told told) {
        Customer asks = who(nth, home);
        told.fixed(3, asks.place);
        Order last = asks.last; // null: none of the orders that are kept is this customer's
        told.seen(asks.balance, last == null ? 0 : last.number);
        if (last != null) {
            told.seen(last.carrier);
            for (Line line : last.lines) {
                told.seen(line.item(), line.quantity(), line.cents());
                told.seen(last.carrier > 0 ? 1 : 0, number);
            }
        }
    }

    private void deliver(int carrier, Told told) {
        told.fixed(4, number, carrier);
        for (District own : districts) {
            Order first = own.waiting.poll();
            if (first == null) {
                told.seen(0);
                continue;
            }
            long cents = first.cents();
            told.seen((long) own.number << 48 | first.number << 8, cents);
            first.carrier = carrier;
            first.customer.balance += cents;
            delivered++;
            deliveredCents += cents;
        }
    }

    private void level(District own, int threshold, Told told) {
        told.fixed(5, own.number, threshold);
        Set<Integer> items = new HashSet<>();
        for (Order order : own.orders.tailMap(own.next - RECENT).values()) {
            order.lines.forEach(line -> items.add(line.item()));
        }
        long low = items.stream().filter(item -> stock[item].quantity < threshold).count();
        told.seen(own.next, low);
    }

    /** The first thing that does not agree (TPC-C 3.3.2); "" if all does. */
    synchronized String wrong() {
        long own = 0;
        long balance = 0;
        long sold = 0;
        for (District one : districts) {
            own += one.paid;
            long waits = one.orders.values().stream().filter(o -> o.carrier == 0).count();
            boolean isWhole = one.orders.size() == draw.customers
                    && one.orders.firstKey() == one.next - draw.customers
                    && one.orders.lastKey() == one.next - 1;
            if (!isWhole || waits != one.waiting.size()) {
                return "orders of district " + one.number;
            }
            for (Customer customer : one.customers) {
                balance += customer.balance + customer.paid;
            }
        }
        for (int item = 0; item < stock.length; item++) {
            long left = stock[item].quantity + stock[item].sold;
            if (left % REFILL != draw.stock(number, item) % REFILL) {
                return "stock of item " + item + " that is left after what was sold";
            }
            sold += stock[item].sold;
        }
        if (own != paid) {
            return "paid at warehouse " + number + ", and at its districts";
        }
        if (balance != deliveredCents) {
            return "what was delivered, by customers and by orders";
        }
        return sold == quantity ? "" : "items sold and ordered";
    }
}
