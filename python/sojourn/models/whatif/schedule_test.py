"""Requests of schedules, by hand."""

from __future__ import annotations

import pytest

from sojourn.errors import SpecFault
from sojourn.models.whatif.schedule import requests


@pytest.mark.parametrize(
    ("rate", "count"),
    [
        ("", 20_000),
        ("2k", 20_000),
        ("steps:10@1s", 10),
        ("steps:2k@10s,9k@60s", 560_000),
        ("ramp:10..200@60s", 6_300),
        ("ramp:200..0@1min", 6_000),
        ("sine:2k,1k,60s", 120_000),
        ("sine:30,10,100s", 21_000),  # seven whole periods
        ("steps:fast@1s", 20_000),  # the simulator says what is wrong
        ("sine:1,2", 20_000),
    ],
)
def test_a_schedule_has_its_own_requests_and_a_steady_rate_those_asked_for(
    rate: str, count: int
) -> None:
    assert requests(rate, 20_000) == count


@pytest.mark.parametrize(
    ("rate", "fix"), [("ramp:10..200", "ramp:10..200@60s"), ("steps:1M@1h", "shorten it to 10.0M")]
)
def test_what_cannot_be_played_to_its_end_is_refused(rate: str, fix: str) -> None:
    with pytest.raises(SpecFault) as caught:
        requests(rate, 20_000)
    assert caught.value.at == "--rate"
    assert fix in caught.value.fix
