from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from sojourn import controllers, install, kinds, knobs, places, services
from sojourn.actors import managers, neighbours
from sojourn.errors import SpecFault


@dataclass(frozen=True)
class Fruit:
    name: str


TABLE = kinds.table(Fruit("pear"), Fruit("apple"))


def test_a_table_keeps_the_order_in_which_it_is_written_and_finds_by_name() -> None:
    assert list(TABLE) == ["pear", "apple"]
    assert kinds.find(TABLE, "apple", "fruit") is TABLE["apple"]


def test_a_name_comes_once() -> None:
    with pytest.raises(ValueError, match="twice: pear, pear"):
        kinds.table(Fruit("pear"), Fruit("pear"))


def test_a_late_table_knows_its_names_and_loads_a_kind_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[str] = []

    def load(name: str) -> SimpleNamespace:
        loaded.append(name)
        return SimpleNamespace(KIND=Fruit(name.rpartition(".")[2]))

    monkeypatch.setattr(kinds, "import_module", load)
    table = kinds.late("garden", "pear", "old.apple", "fig as date")
    assert (list(table), len(table), "apple" in table, "fig" in table) == (
        ["pear", "apple", "date"],
        3,
        True,
        False,
    )
    assert not loaded
    assert table["apple"] is table["apple"]
    assert (table.get("fig"), loaded) == (None, ["garden.old.apple"])
    made = kinds.made(table, lambda fruit: fruit.name.upper())
    assert (list(made), made["pear"]) == (["pear", "apple", "date"], "PEAR")
    with pytest.raises(ValueError, match=r"garden\.fig has the kind fig, not date"):
        table["date"]
    with pytest.raises(ValueError, match="twice: pear, pear"):
        kinds.late("garden", "pear", "old.pear")


@pytest.mark.parametrize(
    "table",
    [
        services.KINDS,
        knobs.KINDS,
        controllers.KINDS,
        neighbours.KINDS,
        managers.KINDS,
        places.KINDS,
        install.KINDS,
    ],
    ids=["services", "knobs", "controllers", "neighbours", "managers", "places", "install"],
)
def test_each_kind_of_a_late_table_has_the_name_by_which_it_is_asked_for(
    table: Mapping[str, kinds.Named],
) -> None:
    assert [kind.name for kind in table.values()] == list(table)


@pytest.mark.parametrize(
    ("asked", "fix"), [("aple", "did you mean apple?"), ("nut", "known: pear, apple")]
)
def test_what_there_is_not_is_refused_with_what_was_meant(asked: str, fix: str) -> None:
    with pytest.raises(SpecFault) as refused:
        kinds.find(TABLE, asked, "fruit")
    assert (refused.value.what, refused.value.fix) == (f"there is no fruit {asked}", fix)
