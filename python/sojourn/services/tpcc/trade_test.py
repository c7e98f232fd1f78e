"""The company that replays answers, and what becomes of a service whose books do not agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from sojourn import services
from sojourn.errors import HostFault, RunFault
from sojourn.install import Made
from sojourn.places import Address
from sojourn.services import Allowance
from sojourn.services.tailbench.queries import numbers
from sojourn.services.tpcc import specjbb, trade
from sojourn.services.tpcc.company import Company
from sojourn.services.tpcc.draws import Scale, mix
from sojourn.services.tpcc.specjbb import Specjbb
from sojourn.services.tpcc.trade import Trade

GIB = 1 << 30
AT = Address("127.0.0.1", 1)
SCALE = Scale(warehouses=2, items=1000)


class Fake(Specjbb):
    """A service that a company of our own plays; what it says can be bent."""

    company = Company(1, SCALE)
    bent: ClassVar[dict[str, Any]] = {}

    @property
    def scale(self) -> Scale:
        return SCALE

    def _ask(self, query: int, address: Address, within_s: float) -> str | None:
        fixed, seen = self.company.query(query * self.batch, self.batch)
        bend = self.bent.get("query") == query
        if bend and self.bent["what"] == "nothing":
            return None
        fixed ^= bend and self.bent["what"] == "fixed"
        seen ^= bend and self.bent["what"] == "seen"
        return trade._audit_text(query, self.batch, fixed, seen)

    def audit_table(self, address: Address, within_s: float) -> dict[str, Any] | None:
        jit = dict.fromkeys(("jit_ms", "jit_last_s_ms", "gc_pauses", "gc_ms", "gc_longest_ms"), 5)
        table = {"state": "holds", "wrong": None, **self.company.counts, **jit, "warmed_s": 1.0}
        return {**table, **self.bent.get("books", {})}


def fake(monkeypatch: pytest.MonkeyPatch, **bent: Any) -> Trade:
    monkeypatch.setattr(Fake, "company", Company(1, SCALE))
    monkeypatch.setattr(Fake, "bent", bent)
    return Fake(
        path=Path("/nowhere/java"),
        threads=1,
        queries=60,
        seed=1,
        port=0,
        why=(),
        warehouses=2,
        items=1000,
        batch=5,
        jar=Path("/nowhere"),
        is_fetched=False,
        heap_mb=64,
        collector="serial",
        warm_s=1.0,
    )


def test_one_number_at_a_time_is_the_same_stream() -> None:
    many = numbers(1234567, np.arange(3, dtype=np.uint64))
    gamma = 0x9E3779B97F4A7C15
    assert [mix(1234567 + gamma * nth) for nth in range(3)] == list(many)


def test_the_company_keeps_its_books() -> None:
    company = Company(1, SCALE)
    fixed = [company.query(5 * query, 5)[0] for query in range(400)]
    counts, customers = company.counts, SCALE.customers
    assert counts["orders"] == sum(own.next - 1 - customers for own in company.districts.values())
    waiting = sum(len(own.waiting) for own in company.districts.values())
    began = len(company.districts) * (customers - customers * 7 // 10)
    assert counts["delivered"] + counts["lapsed"] + waiting == began + counts["orders"]
    assert counts["lapsed"] > 0, "the backlog has reached the oldest order"
    paid = sum(own.paid for own in company.districts.values())
    assert sum(company.houses) == paid + (20 - len(company.districts)) * customers * 1000
    assert fixed[:9] == [Company(1, SCALE).query(5 * query, 5)[0] for query in range(9)]
    assert all(10 <= left <= 100 for left in company.stock.values())


def test_answers_that_are_right_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    service = fake(monkeypatch)
    facts = dict(service.check(AT))
    assert facts["answers checked"].startswith("40 queries replayed")
    assert "of rehearsal" in facts["compiler"]
    assert dict(service.audit(AT))["books"].startswith("agree after")
    again = dict(service.check(AT))["answers checked"]  # the books go on; what is fixed stays
    assert again == "40 queries asked, what inputs fix is alike"


@pytest.mark.parametrize("what", ["fixed", "seen", "nothing"])
@pytest.mark.parametrize("query", [0, 39])
def test_an_answer_that_is_wrong_is_found_out(
    monkeypatch: pytest.MonkeyPatch, what: str, query: int
) -> None:
    with pytest.raises(RunFault, match=f"query {query} is answered wrongly"):
        fake(monkeypatch, query=query, what=what).check(AT)


@pytest.mark.parametrize(
    ("books", "text"),
    [
        ({"state": "broken", "wrong": "stock of item 3"}, "stock of item 3"),
        ({"state": "busy"}, "busy"),
        ({"quantity": 1}, "not what they must be"),
    ],
)
def test_books_that_do_not_agree_are_found_out(
    monkeypatch: pytest.MonkeyPatch, books: dict[str, Any], text: str
) -> None:
    with pytest.raises(RunFault, match=text):
        fake(monkeypatch, books=books).check(AT)


def test_books_without_a_count_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    service = fake(monkeypatch)
    monkeypatch.setattr(Fake, "audit_table", lambda *_: {"state": "holds", "orders": 0})
    with pytest.raises(RunFault, match="do not say delivered, lapsed, payments, quantity"):
        service.check(AT)
    monkeypatch.setattr(Trade, "_get", lambda *_: (200, "[]"))
    assert Trade.audit_table(service, AT, 1.0) is None


def test_of_large_queries_fewer_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    service = replace(fake(monkeypatch), batch=200)
    monkeypatch.setattr(trade, "REPLAYED_MAX", 600)
    assert dict(service.check(AT))["answers checked"].startswith("3 queries replayed")
    monkeypatch.setattr(trade, "REPLAYED_MAX", 100)
    again = dict(service.check(AT))["answers checked"]
    assert again.startswith("1 query asked"), "never none"


def test_after_a_load_the_books_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    service = fake(monkeypatch, books={"state": "broken", "wrong": "orders of district 4"})
    with pytest.raises(RunFault, match="orders of district 4"):
        service.audit(AT)


def test_a_heap_and_tables_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(at=Path("/nowhere"), files={})
    monkeypatch.setattr(specjbb, "java_home", lambda: (Path("/nowhere/java"), made))
    small = Allowance(cpus=4, memory_bytes=GIB // 2)
    built = services.build("specjbb", {}, small)
    assert isinstance(built, Specjbb)
    assert (built.heap_mb, built.threads, built.warehouses) == (256, 4, 4)
    with pytest.raises(HostFault, match="a heap of 1000 MB is not possible"):
        services.build("specjbb", {"heap_mb": 1000}, small)
    many = services.build("specjbb", {"threads": 64}, Allowance(cpus=64, memory_bytes=8 * GIB))
    assert isinstance(many, Specjbb)
    assert many.heap_mb == 1221, "64 warehouses of 20 000 items of 500 B, twice"
    with pytest.raises(HostFault, match="want"):
        services.build("specjbb", {"warehouses": 100}, small)
    with pytest.raises(HostFault, match="do not fit"):
        services.build("silo", {"warehouses": 20}, small)


def test_the_virtual_machine_leaves_no_file_and_has_the_collector_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = fake(monkeypatch).words(Path("/work"), AT)
    assert "-XX:+UseSerialGC" in words
    assert "-XX:-UsePerfData" in words
    assert words[words.index("--warehouses") + 1] == "2"


def test_a_guest_gets_what_java_opens_by_itself(tmp_path: Path) -> None:
    home, etc = tmp_path / "jdk", tmp_path / "etc"
    for folder in (home / "bin", home / "lib" / "security", home / "conf", etc):
        folder.mkdir(parents=True)
    for path in (home / "release", home / "lib" / "modules", etc / "net", etc / "src.zip"):
        path.touch()
    (home / "conf" / "net").symlink_to(etc / "net")
    (home / "lib" / "src.zip").symlink_to(etc / "src.zip")
    (home / "lib" / "gone").symlink_to(etc / "gone")
    (home / "lib" / "security" / "own").symlink_to(home / "release")
    wanted = (home / "lib", home / "conf", home / "release", etc / "net")
    assert specjbb.opened_by(home / "bin" / "java") == wanted
    assert specjbb.opened_by(Path("/nowhere/java")) == (), "else all of this machine's /lib"
