"""TPC-C's company in plain Python: what the services `silo` and `specjbb` must answer.

A second implementation, slow and simple: one transaction after the other, rows made when they are
first looked at.

Source: TPC-C 5.11, sections 2.4 to 2.8; the standard mix of section 5.2.3.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cache

from sojourn.services.tpcc.draws import (
    DISTRICTS,
    LINES_MAX,
    LINES_MIN,
    MASK,
    Draw,
    Order,
    Scale,
    mix,
    nth_of,
)

STRIDE = 256  # places in the stream that belong to one transaction
NEW_ORDER, PAYMENT, STATUS, DELIVERY, LEVEL = range(1, 6)
SHARES = ((45, NEW_ORDER), (88, PAYMENT), (92, STATUS), (96, DELIVERY), (100, LEVEL))
RECENT = 20  # orders whose lines a look at the stock goes through
WHOLE = 10_000  # of a rate in hundredths of a percent
REFILL, LEAST = 91, 10  # stock is filled up where fewer would be left


@dataclass(slots=True)
class Customer:
    """Money in cents, discount in hundredths of a percent."""

    discount: int
    is_bad: bool
    balance: int = -1000
    notes: int = 0


@dataclass(slots=True)
class District:
    """One district: its orders by number, as far as anybody looked at them, and which wait."""

    paid: int
    next: int
    orders: dict[int, Order] = field(default_factory=dict)
    waiting: deque[int] = field(default_factory=deque)
    last_of: dict[int, int] = field(default_factory=dict)


class Company:
    """The company, one transaction after the other."""

    def __init__(self, seed: int, scale: Scale) -> None:
        self.scale, self.draw = scale, Draw(seed, scale)
        self._names = cache(self._named)
        self.houses = [scale.customers * 1000 * DISTRICTS] * scale.warehouses
        self.districts: dict[int, District] = {}
        self.customers: dict[int, Customer] = {}
        self.stock: dict[int, int] = {}
        self.fixed = self.seen = 0
        self.counts = dict.fromkeys(("orders", "delivered", "lapsed", "payments", "quantity"), 0)

    def query(self, first: int, count: int) -> tuple[int, int]:
        """Run transactions in order.

        Args:
            first: number of the first one in the stream.
            count: how many.

        Returns:
            What follows from the inputs alone, and what from all that came before.
        """
        self.fixed = self.seen = 0
        for nth in range(first, first + count):
            self._act(nth * STRIDE)
        return self.fixed, self.seen

    def _tell(self, *words: int) -> None:
        for word in words:
            self.fixed = mix(self.fixed ^ word)

    def _see(self, *words: int) -> None:
        for word in words:
            self.seen = mix(self.seen ^ word & MASK)

    def _act(self, base: int) -> None:
        drawn = self._drawn(base, 0) % 100
        kind = next(kind for below, kind in SHARES if drawn < below)
        house = self._drawn(base, 1) % self.scale.warehouses
        district = house * DISTRICTS + self._drawn(base, 2) % DISTRICTS
        if kind == NEW_ORDER:
            self._order(base, district)
        elif kind == PAYMENT:
            self._pay(base, district)
        elif kind == STATUS:
            self._status(district, self._who(base, district))
        elif kind == DELIVERY:
            self._deliver(house, 1 + self._drawn(base, 9) % 10)
        else:
            self._level(district, 10 + self._drawn(base, 9) % 11)

    def _drawn(self, base: int, place: int) -> int:
        return nth_of(self.draw.asked, base + place)

    def _other(self, house: int, drawn: int) -> int:
        return (house + 1 + drawn % (self.scale.warehouses - 1)) % self.scale.warehouses

    def _number(self, base: int) -> int:
        return self.draw.uneven(self.draw.asked, base + 7, 1, self.scale.customers)

    def _who(self, base: int, home: int) -> int:
        if self._drawn(base, 4) % 100 >= 60:
            return home * self.scale.customers + self._number(base)
        name = self.draw.uneven(self.draw.asked, base + 5, 2, self.scale.names)
        places = self._names(home)[name]
        return places[(len(places) - 1) // 2]

    def _named(self, home: int) -> list[list[int]]:
        """Customers of a district by last name."""
        named: list[list[int]] = [[] for _ in range(self.scale.names)]
        first = home * self.scale.customers
        for place in range(first, first + self.scale.customers):
            named[self.draw.customer(place)[2]].append(place)
        return named

    def _customer(self, place: int) -> Customer:
        if place not in self.customers:
            discount, is_bad, _ = self.draw.customer(place)
            self.customers[place] = Customer(discount, is_bad)
        return self.customers[place]

    def _district(self, number: int) -> District:
        if number not in self.districts:
            customers = self.scale.customers
            made = District(paid=customers * 1000, next=customers + 1)
            made.waiting.extend(range(customers * 7 // 10 + 1, customers + 1))
            made.last_of = {
                self.draw.buyer(number, order): order for order in range(1, customers + 1)
            }
            self.districts[number] = made
        return self.districts[number]

    def _order_of(self, number: int, order: int) -> Order:
        orders = self._district(number).orders
        if order not in orders:
            orders[order] = self.draw.order(number, order)
        return orders[order]

    def _order(self, base: int, number: int) -> None:
        home, own = number // DISTRICTS, self._district(number)
        place = number * self.scale.customers + self._number(base)
        self._tell(NEW_ORDER, place)
        self._see(own.next)
        count = LINES_MIN + self._drawn(base, 9) % (LINES_MAX - LINES_MIN + 1)
        is_void = self._drawn(base, 10) % 100 == 0
        lines: list[tuple[int, int, int, int]] = []
        left: dict[int, int] = {}
        for nth in range(count - is_void):
            at = base + 16 + 8 * nth
            item = self.draw.uneven(self.draw.asked, at, 0, self.scale.items)
            is_remote = self.scale.leads_out and self._drawn(at, 2) % 100 == 0
            supply = self._other(home, self._drawn(at, 3)) if is_remote else home
            quantity = 1 + self._drawn(at, 4) % 10
            shelf = supply * self.scale.items + item
            had = left.get(shelf, self._left(shelf))
            left[shelf] = had - quantity + (REFILL if had < quantity + LEAST else 0)
            self._see(left[shelf])
            lines.append((item, quantity, quantity * self.draw.price(item), supply))
        if is_void:
            self._tell(0)
            return
        rate = (WHOLE - self._customer(place).discount) * (WHOLE + self.draw.tax(number))
        self._tell(sum(line[2] for line in lines) * rate // WHOLE**2)
        self.stock |= left
        self._keep(number, Order(place, lines))
        self.counts["quantity"] += sum(line[1] for line in lines)

    def _left(self, shelf: int) -> int:
        return self.stock.get(shelf, self.draw.stock(shelf))

    def _keep(self, number: int, order: Order) -> None:
        """Put an order in, and take the oldest out."""
        own = self._district(number)
        gone = own.next - self.scale.customers
        buyer = self._order_of(number, gone).customer
        if own.last_of[buyer] == gone:
            del own.last_of[buyer]
        del own.orders[gone]
        if own.waiting and own.waiting[0] == gone:
            own.waiting.popleft()
            self.counts["lapsed"] += 1
        own.orders[own.next] = order
        own.last_of[order.customer] = own.next
        own.waiting.append(own.next)
        own.next += 1
        self.counts["orders"] += 1

    def _pay(self, base: int, number: int) -> None:
        home, house = number, number // DISTRICTS
        if self.scale.leads_out and self._drawn(base, 10) % 100 >= 85:
            away = self._other(house, self._drawn(base, 11))
            home = away * DISTRICTS + self._drawn(base, 12) % DISTRICTS
        place, cents = self._who(base, home), 100 + self._drawn(base, 9) % 499_901
        self._tell(PAYMENT, place, cents)
        own, payer = self._district(number), self._customer(place)
        self.houses[house] += cents
        own.paid += cents
        payer.balance -= cents
        if payer.is_bad:
            payer.notes = mix(payer.notes ^ number ^ cents)
        self._see(self.houses[house], own.paid, payer.balance, payer.notes)
        self.counts["payments"] += 1

    def _status(self, home: int, place: int) -> None:
        own = self._district(home)
        self._tell(STATUS, place)
        last = own.last_of.get(place, 0)  # 0: none of the orders that are kept
        self._see(self._customer(place).balance, last)
        if last:
            order = self._order_of(home, last)
            self._see(order.carrier)
            for item, quantity, cents, supply in order.lines:
                self._see(item, quantity, cents, int(order.carrier > 0), supply)

    def _deliver(self, house: int, carrier: int) -> None:
        self._tell(DELIVERY, house, carrier)
        for number in range(house * DISTRICTS, (house + 1) * DISTRICTS):
            own = self._district(number)
            if not own.waiting:
                self._see(0)
                continue
            first = own.waiting.popleft()
            order = self._order_of(number, first)
            cents = sum(line[2] for line in order.lines)
            self._see(number << 48 | first << 8, cents)
            order.carrier = carrier
            self._customer(order.customer).balance += cents
            self.counts["delivered"] += 1

    def _level(self, number: int, threshold: int) -> None:
        own = self._district(number)
        self._tell(LEVEL, number, threshold)
        recent = [self._order_of(number, o) for o in range(own.next - RECENT, own.next)]
        items = {line[0] for order in recent for line in order.lines}
        first = number // DISTRICTS * self.scale.items
        low = sum(self._left(first + item) < threshold for item in items)
        self._see(own.next, low)
