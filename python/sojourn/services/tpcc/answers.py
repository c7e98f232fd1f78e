"""Right answers to requests to shore: the draws of `shore.sql`, in Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

P = 2**31 - 1  # the modulus of Lehmer's generator
DISTRICTS = 10
CENT = Decimal("0.01")
ORDERS_OF, MIX_OF = 45, 88  # New-Order to Payment as 45 to 43: TPC-C, 5.2.3
_NUMBER, _MONEY = r"(\d+)", r"(\d+\.\d\d)"
ORDER = r"new-order (\d+) w (\d+) d (\d+) c (\d+) o \d+ lines (\d+) total (\d+\.\d\d)"
PAYMENT = r"payment (\d+) w (\d+) d (\d+) cw (\d+) cd (\d+) c (\d+) amount (\d+\.\d\d)"
#: What every reply must match, as the generator is given it.
REPLY = f"^({ORDER}|{PAYMENT})$".replace(_NUMBER, _NUMBER[1:-1]).replace(_MONEY, _MONEY[1:-1])


def draw(n: int, k: int, m: int) -> int:
    """The k-th draw of n, in [0, m).

    >>> draw(1, 0, 88), draw(2, 0, 88)
    (8, 24)
    """
    b = (n * 1103515245 + k * 12345678 + 1) % P * 48271 % P
    return (((b ^ (b >> 15)) * 69621 % P) >> 3) % m


def skewed(n: int, k: int, a: int, m: int) -> int:
    """NURand(a, 1, m) of TPC-C, 2.1.6: some numbers far more often than others."""
    return ((draw(n, k, a + 1) | (1 + draw(n, k + 1, m))) + 42) % m + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large the database is.

    Attributes:
        warehouses: W of TPC-C.
        customers: of each district; 3000 in TPC-C.
        items: 100 000 in TPC-C.
    """

    warehouses: int
    customers: int
    items: int

    def is_reply(self, n: int, text: str) -> bool:
        """Whether this is the answer to request n: who, where, and how much it costs."""
        if draw(n, 0, MIX_OF) < ORDERS_OF:
            match = re.fullmatch(ORDER, text)
            return match is not None and match.groups() == self._order(n)
        match = re.fullmatch(PAYMENT, text)
        return match is not None and match.groups() == self._payment(n)

    def _order(self, n: int) -> tuple[str, ...]:
        w, d = 1 + draw(n, 1, self.warehouses), 1 + draw(n, 2, DISTRICTS)
        c, lines = skewed(n, 10, 1023, self.customers), 5 + draw(n, 4, 11)
        total = Decimal(0)
        for line in range(1, lines + 1):
            item = skewed(n, 100 * line, 8191, self.items)
            price = Decimal(100 + draw(item, 50, 9901)) / 100
            total += price * (1 + draw(n, 100 * line + 4, 10))
        off = Decimal(draw((w * 100 + d) * 10_000 + c, 62, 5001)) / 10_000
        tax = Decimal(draw(w, 60, 2001) + draw(w * 100 + d, 61, 2001)) / 10_000
        total = (total * (1 - off) * (1 + tax)).quantize(CENT, ROUND_HALF_UP)
        return (*map(str, (n, w, d, c, lines)), str(total))

    def _payment(self, n: int) -> tuple[str, ...]:
        w, d = 1 + draw(n, 1, self.warehouses), 1 + draw(n, 2, DISTRICTS)
        cw, cd = w, d
        if draw(n, 3, 100) < 15:  # TPC-C, 2.5.1.2
            cw, cd = self._elsewhere(n, 5, w), 1 + draw(n, 6, DISTRICTS)
        c = skewed(n, 10, 1023, self.customers)
        amount = (Decimal(100 + draw(n, 7, 499_901)) / 100).quantize(CENT)
        return (*map(str, (n, w, d, cw, cd, c)), str(amount))

    def _elsewhere(self, n: int, k: int, w: int) -> int:
        """Another warehouse than w; w itself where there is no other."""
        return 1 + (w + draw(n, k, max(self.warehouses - 1, 1))) % self.warehouses
