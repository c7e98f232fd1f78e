"""What TPC-C's transactions are asked to do and how the company begins, by number.

All of it follows from the seed in closed form, as in `crates/query/src/work/silo/draw.rs` and
`services/tpcc/jbb/Draw.java`; so only what is looked at is ever made.

Source: TPC-C 5.11, sections 2.1.6 and 2.4 to 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.services.tailbench.queries import STREAMS

DISTRICTS = 10
LINES_MIN, LINES_MAX = 5, 15
ORDER_STRIDE = 64
UNEVEN = (8191, 1023, 255)  # ranges of the uneven draws for items, customers and names
ASKED, START = 1 << 35, 1 << 36  # streams
MASK: Final = (1 << 64) - 1
_GAMMA: Final = 0x9E3779B97F4A7C15


def mix(number: int) -> int:
    """SplitMix64's step, of one number: `crates/base/src/rng.rs`.

    >>> mix(1234567)
    6457827717110365317
    """
    z = (number + _GAMMA) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def nth_of(seed: int, nth: int) -> int:
    """Number `nth` of a stream."""
    return mix((seed + _GAMMA * nth) & MASK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large the company is.

    Attributes:
        is_joined: whether orders and payments lead from one warehouse to another.
    """

    warehouses: int
    items: int
    is_joined: bool = True

    @property
    def leads_out(self) -> bool:
        """Whether there is another warehouse to which anything leads."""
        return self.is_joined and self.warehouses > 1

    @property
    def customers(self) -> int:
        """Customers of a district, and orders and payments of it that are stored."""
        return self.items * 3 // 100

    @property
    def names(self) -> int:
        """Last names that there are."""
        return min(self.customers, 1000)


@dataclass(slots=True)
class Order:
    """One order; of a line: item, quantity, cents, the warehouse that supplies it."""

    customer: int
    lines: Sequence[tuple[int, int, int, int]]
    carrier: int = 0


class Draw:
    """What is asked, and how the company begins, from the seed."""

    def __init__(self, seed: int, scale: Scale) -> None:
        self.scale = scale
        self.asked, self.start = (mix((seed ^ STREAMS) + _GAMMA * n & MASK) for n in (ASKED, START))
        self.shifts = [nth_of(self.start, nth) % (span + 1) for nth, span in enumerate(UNEVEN)]

    def uneven(self, stream: int, place: int, kind: int, below: int) -> int:
        """An uneven number (TPC-C 2.1.6): 0 items, 1 customers, 2 names."""
        a = nth_of(stream, place) % (UNEVEN[kind] + 1)
        return ((a | nth_of(stream, place + 1) % below) + self.shifts[kind]) % below

    def customer(self, place: int) -> tuple[int, bool, int]:
        """Of a customer: discount, whether the credit is bad, last name."""
        base, number = (4 << 40) + 4 * place, place % self.scale.customers
        name = number
        if number >= self.scale.names:
            name = self.uneven(self.start, base + 2, 2, self.scale.names)
        return nth_of(self.start, base) % 5001, nth_of(self.start, base + 1) % 10 == 0, name

    def price(self, item: int) -> int:
        """Cents that an item costs."""
        return 100 + nth_of(self.start, (1 << 40) + item) % 9901

    def stock(self, place: int) -> int:
        """How many there are of an item at the start."""
        return 10 + nth_of(self.start, (2 << 40) + place) % 91

    def tax(self, district: int) -> int:
        """Of a district with its warehouse."""
        of_house = nth_of(self.start, (3 << 40) + district // DISTRICTS) % 2001
        return of_house + nth_of(self.start, (3 << 40) + (1 << 32) + district) % 2001

    def buyer(self, district: int, order: int) -> int:
        """Whose an order of the start is: each customer has one."""
        customers = self.scale.customers
        step = 11 if customers % 7 == 0 else 7
        return district * customers + (order * step + district) % customers

    def order(self, district: int, order: int) -> Order:
        """An order of the start."""
        customers = self.scale.customers
        base = (5 << 40) + (district * (customers + 1) + order) * ORDER_STRIDE
        is_delivered = order <= customers * 7 // 10
        lines = []
        for line in range(LINES_MIN + nth_of(self.start, base) % (LINES_MAX - LINES_MIN + 1)):
            at = base + 1 + 3 * line
            cents = 0 if is_delivered else 1 + nth_of(self.start, at + 1) % 999_999
            lines.append(
                (nth_of(self.start, at) % self.scale.items, 5, cents, district // DISTRICTS)
            )
        carrier = 1 + nth_of(self.start, base + 63) % 10 if is_delivered else 0
        return Order(self.buyer(district, order), lines, carrier)
