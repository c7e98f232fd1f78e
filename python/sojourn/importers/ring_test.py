"""Dumps of the black box: what is read from one, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers.testing import put


def dump(**other: Any) -> dict[str, Any]:
    """1,000 requests, ten of which were stopped for 20 ms."""
    return {
        "schema": "sojourn.trace.ring/1",
        "target": {"name": "memcached"},
        "cause": {"kind": "over", "about": "a request took 20 ms"},
        "answer": "10 of 1000 requests took 5 ms or longer",
        "duration_ns": 60_000_000_000,
        "requests": 1_000,
        "totals": [[99_328, 100_352, 990], [19_922_944, 20_054_016, 10]],
        "blind": {"slow_from_ns": 5_013_504, "slow_requests": 10, "stored": 9},
        "culprits": [
            {"about": "stopped by a signal from `sh` (5)", "share": 0.9, "stack": []},
            {"about": "a lock", "share": 0.1, "stack": ["futex_wait_[k]", "work"]},
        ],
    } | other


def text(document: dict[str, Any]) -> bytes:
    """As the black box writes it."""
    return json.dumps(document, separators=(",", ":")).encode()


def test_quantiles_causes_and_what_is_missing_are_read(tmp_path: Path) -> None:
    form, (one,) = importers.read(put(tmp_path, text(dump())))
    assert (form.name, one.name, one.requests, one.seconds) == ("ring", "memcached", 1_000, 60)
    assert one.times
    assert one.times.at_rank(999) == (19_922_944, 20_054_016)
    notes = "\n".join(one.notes)
    for wanted in (
        "Dumped because: a request took 20 ms.",
        "90% of the slow requests' time: stopped by a signal from `sh` (5).",
        "In futex_wait_[k] ← work.",
        "9 of 10 requests of 5.01 ms or longer",
    ):
        assert wanted in notes


def test_a_dump_without_a_request_has_no_time(tmp_path: Path) -> None:
    _, (one,) = importers.read(put(tmp_path, text(dump(requests=0, totals=[], culprits=[]))))
    assert (one.requests, one.times) == (0, None)


@pytest.mark.parametrize(
    "other",
    [
        {"requests": 7},
        {"totals": [[1, 2]]},
        {"totals": [[5, 9, 1], [3, 4, 999]]},
        {"totals": [[5, 4, 1_000]]},
        {"totals": [["x", 2, 1_000]]},
        {"blind": None},
        {"culprits": [{"share": "much"}]},
        {"duration_ns": -1},
    ],
)
def test_damage_is_refused_with_its_place(other: dict[str, Any], tmp_path: Path) -> None:
    path = put(tmp_path, text(dump(**other)))
    with pytest.raises(SpecFault) as caught:
        importers.read(path, "ring")
    assert str(path) in caught.value.at
