"""What `sojourn try` says: the answer in one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.analysis import lqos
from sojourn.plan.axis import Target
from sojourn.report import glance, testing
from sojourn.spec import Qos, QosRule, ServiceSpec


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        (Qos(q=0.99, bound="1ms"), "p99 ≤ 1 ms"),
        (Qos(q=0.99, rule=QosRule.LOW_LOAD), "p99 ≤ 1 ms (5 times p99 at 20 % load)"),
        (
            Qos(q=0.95, rule=QosRule.LOW_LOAD, factor=3, at_fraction=0.1),
            "p95 ≤ 1 ms (3 times p95 at 10 % load)",
        ),
    ],
)
def test_a_bound_that_was_measured_says_where_it_comes_from(asked: Qos, target: str) -> None:
    spec = ServiceSpec(kind="memcached", measure=("sweep",), qos=asked)
    known = lqos.qos(spec, Target(q=asked.q, bound_ns=1e6, rule=asked.rule))
    service = replace(testing.memcached(), qos=known)
    assert f" fit within {target}: http://x/ (" in glance.sentence(service, "http://x/")
