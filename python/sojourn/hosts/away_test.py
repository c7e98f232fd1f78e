"""The driver's side of roles that are no clients; real ones are in `stage_test`."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import spec
from sojourn.hosts.away import Away
from sojourn.hosts.clock import Reading
from sojourn.hosts.engine import Node

SECOND = 1_000_000_000
OWN = {"boot": "the lab's", "time": "t"}


@pytest.mark.parametrize(
    ("boot", "off_s", "known"),
    [("b", 5, "b"), ("b", 7, ""), ("the lab's", 0, "the lab's"), ("the lab's", 7, "")],
)
def test_a_server_that_is_a_copy_of_another_machine_is_no_part_of_it(
    boot: str, off_s: int, known: str
) -> None:
    """A client has the boot `b` as well, and a clock that is five seconds off."""
    client = SimpleNamespace(
        seen=(
            {"boot": "b", "time": "t"},
            Reading(at_ns=time.monotonic_ns(), offset_ns=5 * SECOND, error_ns=1e8),
        )
    )
    station: Any = SimpleNamespace(
        facts={"boot": boot, "time": "t"},
        node=Node(id="1", name="h", address="10.0.0.4"),
        ask=lambda _: time.monotonic_ns() + off_s * SECOND,
        begin=lambda message: message,
    )
    away = Away.__new__(Away)
    crew: Any = SimpleNamespace(members=[client], own=OWN)
    away._fleet = SimpleNamespace(crew=crew)  # type: ignore[assignment]
    away._study, away._is_forced = spec.load("max_load_memcached"), False
    away._neighbours = []
    message = away._open(station)
    assert station.facts["boot"] == known
    assert message["is_forced"] is (known == OWN["boot"]), (
        "the lab has the turn of its own machine alone"
    )
