"""How long requests of a study may take: by the bound, the first replies, and what is given."""

from __future__ import annotations

import pytest

from sojourn.run import waits
from sojourn.spec import ServiceSpec
from sojourn.units import parse_ns


def service(bound: str = "", **load: str) -> ServiceSpec:
    qos = {"qos": {"q": 0.99, "bound": bound}} if bound else {}
    return ServiceSpec.model_validate({"kind": "external", "load": load, **qos})


@pytest.mark.parametrize(
    ("spec", "reply_s", "bound_s", "timeout_s", "drain_s"),
    [
        (service(), 0.0, 0.0, 1.0, None),  # as before there were slow services
        (service("1ms"), 0.0, 0.0, 1.0, None),
        (service("500ms"), 0.05, 0.0, 5.0, None),
        (service("10s"), 0.0, 0.0, 100.0, 20.0),  # also where a point has no bound: the peak
        (service(), 0.0, 10.0, 100.0, 20.0),  # one that was measured
        (service(), 30.0, 0.0, 30.0, 30.0),
        (service("2s"), 30.0, 0.0, 30.0, 30.0),
        (service(timeout="10s"), 0.0, 0.0, 1.0, 10.0),  # the study's own comes after these
        (service(timeout="500ms"), 0.0, 0.0, 1.0, None),
    ],
)
def test_waits_follow_the_bound_and_the_first_replies(
    spec: ServiceSpec, reply_s: float, bound_s: float, timeout_s: float, drain_s: float | None
) -> None:
    keys = waits.keys(spec, reply_s, bound_s)
    assert parse_ns(keys["timeout"]) == timeout_s * 1e9
    assert ("drain" in keys) == (drain_s is not None)
    assert drain_s is None or parse_ns(keys["drain"]) == drain_s * 1e9
