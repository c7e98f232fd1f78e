"""A document is what `json.dumps` makes of plain values, without the objects in between."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import pytest

from sojourn.text import plain_values


class _Word(Enum):
    HOLDS = "holds"


class _Rank(IntEnum):
    LOW = 1


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    of: Any = ()


VALUES = [
    {},
    [],
    (),
    'a "quoted" \\ line\n\t\u2028 ü \x1b',
    1,
    -1.5e-300,
    0.1,
    1e22,
    math.inf,
    math.nan,
    None,
    True,
    _Word.HOLDS,
    _Rank.LOW,
    Path("/a"),
    _Row("alone"),
    _Row("nested", {"a": _Row("in", [1, (2.5, None, False, -math.inf)]), 3: {}}),
    [_Row("x"), [[], [[]], {}], {"k": []}],
    {"list": [1, [2, {"a": (3,)}]], "one": [_Row("x")], "none": [], "row": _Row("y", {"z": [1]})},
    {"set": {7}, 1: "number", None: 2, "mapping": {"a": {"b": {"c": [{}]}}}},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_document_is_the_dumped_plain_value(value: Any) -> None:
    wanted = json.dumps(plain_values.plain(value), indent=2, ensure_ascii=False)
    assert plain_values.document(value) == wanted


def test_a_document_has_at_most_what_is_asked_for() -> None:
    whole = plain_values.document(VALUES[-2])
    assert plain_values.document_within(VALUES[-2], len(whole)) == whole
    assert plain_values.document_within(VALUES[-2], len(whole) - 1) is None


def test_what_is_too_long_is_not_made_to_its_end() -> None:
    class Rows(list[Any]):
        seen = 0

        def __iter__(self) -> Iterator[Any]:
            for row in super().__iter__():
                Rows.seen += 1
                yield row

    assert plain_values.document_within({"rows": Rows(range(1_000))}, 100) is None
    assert Rows.seen < 100


def test_a_document_takes_few_times_its_length_of_memory() -> None:
    value = {"rows": [_Row("name", tuple((i / 7, i / 3) for i in range(1_000)))] * 20}
    plain_values.document(value)
    tracemalloc.start()
    try:
        length = len(plain_values.document(value))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * length  # the plain objects and the pieces of json.dumps took 8 times as much
