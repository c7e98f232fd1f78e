"""Why requests failed: what is known of it stands before what the generator can only guess."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from sojourn import samples
from sojourn.samples import contract, failed, made
from sojourn.samples.testing_point import first_point

GUESS = (
    "replies: 100.0 % of replies were misses or had a wrong body (see errors); preload the items"
)
LAG = "lag: the client was late"


def result(**more: Any) -> contract.LoadResult:
    table = made.result([1e6] * 100, job={"expect_bytes": 10}, offered_rps=100, achieved_rps=100)
    return contract.LoadResult.model_validate({**table, "requests": 100, **more})


def test_replies_of_another_length_name_what_takes_any() -> None:
    first, *rest = failed.reasons(result(errors={"length": 100}), (GUESS, LAG))
    assert "100% of the replies were not 10 bytes long" in first
    assert "--any-length" in first
    assert "expect_bytes = 0" in first
    assert rest == [LAG], "the guess about key-value stores is gone"


def test_requests_lost_as_connections_ended_name_goaway() -> None:
    outcome = failed.reasons(
        result(errors={"closed": 2}, replies={"statuses": {"GOAWAY": 2}}), (GUESS,)
    )
    assert "GOAWAY" in outcome[0]
    assert "keepalive_requests" in outcome[0]
    assert outcome[1:] == (GUESS,)


@pytest.mark.parametrize("name", ["HTTP 429", "RESOURCE_EXHAUSTED"])
def test_requests_that_a_rate_limiter_refused_name_it(name: str) -> None:
    more = {"errors": {"status": 40}, "replies": {"count": 60, "statuses": {name: 50}}}
    first, *rest = failed.reasons(result(**more), (GUESS, LAG))
    assert first.startswith(f"{failed.LIMITED}: the service refused 40% of the requests")
    assert name in first
    assert rest == [LAG]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"errors": {"length": 1}},
        {"errors": {"status": 100}},
        {"replies": {"statuses": {"GOAWAY": 1, "HTTP 503": 50}}},
        {"errors": {"status": 1}, "replies": {"count": 99, "statuses": {"HTTP 429": 50}}},
        {"errors": {"status": 100}, "replies": {"count": 0, "statuses": {"HTTP 429": 100}}},
    ],
)
def test_nothing_is_reported_about_what_is_rare_or_not_known(more: dict[str, Any]) -> None:
    assert failed.reasons(result(**more), (GUESS, LAG)) == (GUESS, LAG)


def test_refusals_are_counted_by_status_within_what_failed() -> None:
    statuses = {"HTTP 503": 50, "HTTP 500": 7, "HTTP 429": 9, "UNAVAILABLE": 90}
    of = result(errors={"status": 100}, replies={"statuses": statuses})
    assert failed.refused(of) == {"UNAVAILABLE": 90, "HTTP 503": 10}
    assert list(failed.refused(of)) == ["UNAVAILABLE", "HTTP 503"]
    assert failed.refused(result(replies={"statuses": {"HTTP 503": 50}})) == {}


def test_a_run_has_what_was_refused_of_it(tmp_path: Path) -> None:
    named = {"errors": {"status": 40}, "replies": {"count": 60, "statuses": {"HTTP 503": 45}}}
    outcome = samples.read(made.put(tmp_path, first_point(), made.result([1e6] * 100, **named)))
    assert (outcome.refused, outcome.refused_with) == (40, ("HTTP 503",))
    assert outcome.used_cpus is None, "nothing is known of a server that is not seen"


def test_a_request_that_was_cut_off_has_waited_for_no_cpu() -> None:
    lost = {"sojourn_ns": made.span([1e6] * 60 + [math.inf] * 40)}
    assert failed.without_a_wait(result(**lost, errors={"closed": 30, "timed_out": 10})) == 30
    assert failed.without_a_wait(result(**lost, errors={"timed_out": 50})) == 0
