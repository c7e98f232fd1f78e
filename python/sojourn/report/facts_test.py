"""The numbers under a service's answer."""

from __future__ import annotations

from dataclasses import replace

from sojourn.report import facts, testing
from sojourn.report.draw import lookup


def test_max_rps_is_a_bound_where_a_run_at_a_set_load_got_more() -> None:
    base = testing.memcached()
    more = replace(base, served_rps=60_100.0)
    shown = dict(facts.of_service(more))["max RPS"]
    assert shown.endswith("; at least 60.1k, which a run at a set load got")
    assert lookup.load_title(more)[1].endswith("too low: 60.1k was served)")
    assert "at least" not in dict(facts.of_service(base))["max RPS"]
    assert "served" not in lookup.load_title(base)[1]
