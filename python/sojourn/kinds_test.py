from __future__ import annotations

from dataclasses import dataclass

import pytest

from sojourn import kinds
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


@pytest.mark.parametrize(
    ("asked", "fix"), [("aple", "did you mean apple?"), ("nut", "known: pear, apple")]
)
def test_what_there_is_not_is_refused_with_what_was_meant(asked: str, fix: str) -> None:
    with pytest.raises(SpecFault) as refused:
        kinds.find(TABLE, asked, "fruit")
    assert (refused.value.what, refused.value.fix) == (f"there is no fruit {asked}", fix)
