"""The ideal queue beside a service: its μ, its constant, and where the two part."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn.analysis import lqos, overlay
from sojourn.findings.answer_test import HOLDS, estimate, load
from sojourn.findings.load_point import Line, LoadPoint
from sojourn.plan.axis import Target
from sojourn.spec import Qos, QosRule, ServiceSpec
from sojourn.stats import queueing


def point(fraction: float, mean_ns: float | None, p99_ns: float | None = None) -> LoadPoint:
    load_point = load(fraction, HOLDS)
    tail = replace(estimate(0.99, 0.0), value=p99_ns)
    return replace(
        load_point,
        mean=replace(load_point.mean, value=mean_ns),
        quantiles=(estimate(0.5, 1.0), tail),
    )


def test_the_line_is_the_queue_s_plus_what_a_lone_request_spends_outside() -> None:
    """10k requests/s on one server: S = 100 µs; at 20 % M/M/1 takes 125 µs, the service 160 µs."""
    points = [point(0.5, 9e9), point(0.2, 160e3), point(0.1, None)]
    mean, tail = overlay.lines(points, 10_000.0, 1, 0.99)
    assert (mean.name, tail.name) == ("M/M/1 mean", "M/M/1 p99")
    assert mean.fraction == pytest.approx([0.02 + 0.01 * k for k in range(98)])
    assert mean.value_ns == pytest.approx([35e3 + 100e3 / (1 - f) for f in mean.fraction])
    assert tail.value_ns == pytest.approx(
        [35e3 + 100e3 * math.log(100) / (1 - f) for f in tail.fraction]
    )
    assert "(S = 100 µs); plus 35.0 µs that a request at 20 % load" in mean.about


def test_several_servers_share_max_rps_and_nothing_outside_is_negative() -> None:
    mean, tail = overlay.lines([point(0.2, 10.0)], 10_000.0, 4, 0.95)
    assert mean.value_ns == pytest.approx([queueing.mmn_mean(4, f, 400e3) for f in mean.fraction])
    assert tail.name == "M/M/4 p95"
    assert tail.value_ns[50] == pytest.approx(
        queueing.mmn_quantile(0.95, 4, tail.fraction[50], 400e3)
    )


def test_without_a_server_count_a_peak_or_a_low_load_there_is_no_line() -> None:
    low = point(0.2, 160e3)
    assert overlay.lines([low], None, 1, 0.99) == []
    assert overlay.lines([low], 10_000.0, None, 0.99) == []
    assert overlay.lines([], 10_000.0, 1, 0.99) == []
    assert overlay.lines([point(1.0, 160e3), point(0.1, None)], 10_000.0, 1, 0.99) == []


IDEAL = Line(name="M/M/1 p99", about="", fraction=(0.0, 0.99), value_ns=(100.0, 199.0))


@pytest.mark.parametrize(
    ("tails", "parts"),
    [
        # The line is 100 + 100 f: at 0.2, 0.4, 0.6 and 0.8 one and a half times it is …
        ((180.0, 210.0, 240.0, 270.0), None),
        ((181.0, 211.0, 241.0, 271.0), 0.2),
        ((181.0, 210.0, 241.0, 271.0), 0.6),  # above from there on up, not once
        ((180.0, 210.0, 240.0, 271.0), 0.8),
        ((180.0, 211.0, None, 271.0), 0.4),  # a load without a number says nothing
        ((181.0, 211.0, 241.0, 270.0), None),
    ],
)
def test_the_tail_parts_from_where_it_stays_above_one_and_a_half_times_the_ideal(
    tails: tuple[float | None, ...], parts: float | None
) -> None:
    points = [point(f, 1.0, ns) for f, ns in zip((0.2, 0.4, 0.6, 0.8), tails, strict=True)]
    beyond = point(1.0, 1.0, 1.0)  # the ideal queue has no load of 1
    assert overlay.parts_at([*points[::-1], beyond], [IDEAL], 0.99) == parts
    assert overlay.parts_at(points, [IDEAL], 0.95) is None


def test_lqos_is_five_times_the_time_at_20_percent_and_four_fifths_of_it_are_service() -> None:
    assert lqos.bound_ns(1e6) == 5e6
    assert lqos.bound_ns(1e6, factor=3) == 3e6
    # M/M/1 at 20 %: S / 0.8.
    assert lqos.without_queue(125.0) == pytest.approx(100.0)
    assert lqos.without_queue(queueing.mmn_mean(1, 0.5, 7.0), 0.5) == pytest.approx(7.0)


def test_a_target_says_where_its_bound_comes_from() -> None:
    spec = ServiceSpec(
        kind="memcached",
        measure=("sweep",),
        qos=Qos(q=0.99, rule=QosRule.LQOS, factor=4, at_fraction=0.3),
    )
    target = Target(q=0.99, bound_ns=3e6, rule=QosRule.LQOS)
    qos = lqos.qos(spec, target)
    assert qos is not None
    assert (qos.q, qos.bound_ns) == (0.99, 3e6)
    assert qos.rule.startswith("4 times the mean sojourn time at 30 % load")
    low = lqos.qos(spec, replace(target, rule=QosRule.LOW_LOAD))
    assert low is not None
    assert low.rule.startswith("4 times p99 at 30 % load")
    assert lqos.qos(spec, None) is None
    assert lqos.qos(spec.model_copy(update={"qos": None}), target) is None
