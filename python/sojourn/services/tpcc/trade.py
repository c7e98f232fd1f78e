"""What the services of TPC-C's kind have in common: how their answers are held to be right.

An answer says two numbers. `fixed` follows from the query's inputs, whoever else is at work; `seen`
from all that was committed before. While no one else asks, queries come one after the other, and a
second implementation (`company`) says both; afterwards the service's own audit says whether its
books agree, whatever came in between.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from sojourn import disk
from sojourn.errors import RunFault
from sojourn.places.ports import Address
from sojourn.services.capabilities import Audits, Rows
from sojourn.services.clients import http_get
from sojourn.services.tailbench.queries import REPLY_MAX, Queries
from sojourn.services.tpcc.company import Company
from sojourn.services.tpcc.draws import Scale

CHECK = "/check"
AUDIT_S_MAX = 60.0
REPLAYED = 40  # queries; some dozens of transactions of each common kind
REPLAYED_MAX = 10_000  # transactions, unless one query has more: two seconds and more of Python
COUNTED = ("orders", "delivered", "lapsed", "payments", "quantity")
ANSWER = re.compile(r"query +(\d+) batch +(\d+) fixed ([0-9a-f]{16}) seen ([0-9a-f]{16})\n")
REPLY_BYTES = 75


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade(Queries, Audits):
    """A service that trades as TPC-C's company does."""

    warehouses: int
    items: int
    batch: int

    @property
    @abstractmethod
    def scale(self) -> Scale:
        """How large its company is."""

    @property
    def reply_bytes(self) -> int:
        """Number of the query, how many transactions, and the two numbers."""
        return REPLY_BYTES

    def is_answer(self, query: int, text: str) -> bool:
        """Whether what follows from a query's inputs alone is what it must be."""
        match = ANSWER.fullmatch(text)
        if not match or [int(match[1]), int(match[2])] != [query, self.batch]:
            return False
        fixed, _ = Company(self.seed, self.scale).query(query * self.batch, self.batch)
        return int(match[3], 16) == fixed

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it says what is to be asked: a query would change its books."""
        status, body = self._get("/", address, within_s)
        return status == HTTPStatus.NOT_FOUND and "/q/" in body

    def audit_table(self, address: Address, within_s: float) -> dict[str, Any] | None:
        """What its audit says; None if it says nothing."""
        status, body = self._get(CHECK, address, within_s)
        try:
            table = disk.parsed(body.encode())
        except ValueError:
            return None
        return table if status == HTTPStatus.OK and isinstance(table, dict) else None

    def _get(self, path: str, address: Address, within_s: float) -> tuple[int, str]:
        """Status and body of a reply; (0, "") if there is none."""
        return http_get.text(address, path, within_s, REPLY_MAX)

    def check(self, address: Address) -> Rows:
        """Replay the first queries here and there, answer by answer, then compare the books.

        Raises:
            RunFault: one answer is wrong, or the books do not agree.
        """
        before = self._audited(address)
        company = Company(self.seed, self.scale)
        count = min(REPLAYED, self.queries, max(1, REPLAYED_MAX // self.batch))
        is_fresh = before["orders"] == before["payments"] == 0
        for query in range(count):
            text = self._ask(query, address, within_s=5.0)
            fixed, seen = company.query(query * self.batch, self.batch)
            wanted = _audit_text(query, self.batch, fixed, seen)
            if text is None or not (text == wanted if is_fresh else self.is_answer(query, text)):
                raise self._wrong(f"query {query} is answered wrongly: {text!r:.90}", address)
        after = self._audited(address)
        here = {name: company.counts[name] for name in COUNTED}
        there = {name: after[name] for name in COUNTED}
        if is_fresh and here != there:
            raise self._wrong(f"its books are not what they must be: {there}, not {here}", address)
        how = "replayed, answers and books alike" if is_fresh else "asked, what inputs fix is alike"
        text = f"{count} {'query' if count == 1 else 'queries'} {how}"
        return (("answers checked", text), *self.further_facts(after))

    def audit(self, address: Address) -> Rows:
        """Whether its books agree after a load.

        Raises:
            RunFault: they do not.
        """
        table = self._audited(address)
        text = f"agree after {table['orders']} orders and {table['payments']} payments"
        return (("books", text), *self.further_facts(table))

    def further_facts(self, table: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """What else its audit tells, for people."""
        conflicts = table.get("conflicts")
        return (("conflicts", f"{conflicts} so far"),) if conflicts is not None else ()

    def _audited(self, address: Address) -> dict[str, Any]:
        table = self.audit_table(address, AUDIT_S_MAX)
        if table is None or table.get("state") != "holds":
            text = (table or {}).get("wrong") or (table or {}).get("state") or "it says nothing"
            raise self._wrong(f"its books do not agree: {text}", address)
        if missing := [name for name in COUNTED if name not in table]:
            raise self._wrong(f"its books do not say {', '.join(missing)}", address)
        return table

    def _wrong(self, what: str, address: Address) -> RunFault:
        return RunFault(
            what,
            at=f"{self.path.name} at {address}",
            fix="see service.log in the point's folder; build program and lab from one checkout: "
            "make build",
        )


def _audit_text(query: int, batch: int, fixed: int, seen: int) -> str:
    return f"query {query:>10} batch {batch:>6} fixed {fixed:016x} seen {seen:016x}\n"
