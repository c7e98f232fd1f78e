"""What the first screen says of where the time goes."""

from __future__ import annotations

from sojourn.questions.breakdown.testing_opening import breakdown
from sojourn.report import openings


def test_who_caused_the_tail_is_reported_after_its_stage() -> None:
    first, second, who = openings.of(breakdown()).sentences
    assert "98 % of the 611 µs of memcached's slowest requests is EPoll (queuing delay)" in first
    assert "nginx" in second
    assert who == "The slowest were made slow by run-queue delay behind `xz` (60 %, nginx)."
