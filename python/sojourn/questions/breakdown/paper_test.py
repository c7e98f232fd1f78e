"""The papers' rows: which apply, and what they say of ours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.findings.answer_test import HOLDS, VIOLATED, load, memcached
from sojourn.findings.findings import Qos, ServiceFinding
from sojourn.findings.load_point import Line, LoadPoint
from sojourn.papers import paper
from sojourn.papers import stages as paper_stages
from sojourn.plan import Verdict
from sojourn.questions.breakdown.findings import Cost, Stages
from sojourn.stats.interval import Estimate


def p95(fraction: float, mean_ns: float | None, p95_ns: float | None) -> LoadPoint:
    point = load(fraction, HOLDS)

    def report(q: float | None, ns: float | None) -> Estimate:
        return replace(point.mean, q=q, value=ns)

    return replace(point, mean=report(None, mean_ns), quantiles=(report(0.95, p95_ns),))


def row(finding: ServiceFinding, name: str, parts_at: float | None = None) -> str | None:
    rows = {row[0]: row[2] for row in paper.rows(finding, 7, parts_at)}
    return rows.get(name)


def test_p95_over_mean_is_that_of_the_load_nearest_to_half() -> None:
    name = "p95 over mean"
    points = (p95(0.2, 1e3, 9e3), p95(0.45, 2e3, 6.2e3), p95(0.56, 1e3, 2e3), p95(0.9, 1e3, 5e3))
    assert row(memcached(*points), name) == "3.1 at 45 % load"
    assert row(memcached(*points[2:]), name) == "2.0 at 56 % load"
    assert row(memcached(p95(0.5, None, 3e3), p95(0.5, 1e3, None)), name) is None


def test_a_target_is_the_papers_or_another() -> None:
    finding = memcached(load(0.5, HOLDS), load(0.75, VIOLATED))
    assert row(finding, "load within QoS") == (
        "between 50 % and 75 %; the same target; max RPS: closed-loop peak"
    )
    for other in (Qos(q=0.95, bound_ns=1e6, rule=""), Qos(q=0.99, bound_ns=2e6, rule="")):
        text = row(replace(finding, qos=other), "load within QoS")
        assert text is not None
        assert "another target: p9" in text
    assert row(replace(finding, qos=None), "load within QoS") is None
    assert row(replace(finding, kind="serve"), "load within QoS") is None
    nginx = replace(finding, kind="nginx", qos=Qos(q=0.99, bound_ns=20e6, rule=""))
    assert "the same target" in (row(nginx, "load within QoS") or "")


def test_max_rps_is_beside_the_papers_with_its_workers_and_rule() -> None:
    finding = memcached()
    assert row(finding, "max RPS") == (
        "135k (7 here, client on the same machine; closed-loop peak)"
    )
    plain = {r[0]: r[2] for r in paper.rows(replace(finding, max_rps_rule="own"), None, None)}
    assert plain["max RPS"] == "135k (own)"
    assert row(replace(finding, max_rps=None), "max RPS") is None


def test_where_the_tail_leaves_the_ideal_queue() -> None:
    name = "tail above 1.5 times that of M/M/n"
    line = Line(name="M/M/1 p99", about="", fraction=(), value_ns=())
    result = replace(memcached(), lines=(line,))
    assert row(result, name) == "not in the loads measured"
    assert row(result, name, 0.7) == "from 70 % load up"
    other = replace(result, lines=(replace(line, name="lowess p99"),))
    assert row(other, name, 0.7) is None


def stages(under: paper_stages.Under, fraction: float, **change: float) -> Stages:
    # fmt: off
    ours = {"RX": 1e3, "TCP/IP": 2e3, "EPoll": 3e3, "libevent": 4e3, "Read": 5e3,
            "application": 6e3, "Open": 500.0, "Send": 7e3, "other": 9e9, **change}
    # fmt: on
    return Stages(
        name=f"{fraction:g}",
        neighbour=under[1],
        is_alone=under[2],
        fraction=fraction,
        offered_rps=1.0,
        requests=9,
        unmatched_share=0.0,
        runs=1,
        stages=tuple(ours.items()),
        tail=(),
        mean_ns=30e3,
        tail_mean_ns=None,
        residual_ns=None,
        quantiles=(),
        causes=(),
        tail_causes=(),
        cpu=(),
        gaps=(),
        cost=Cost(pairs=0, throughput=None, mean=None, p99=None, cpu=None),
        verdict=Verdict.HOLDS,
        reasons=(),
    )


def test_a_column_of_the_papers_has_our_stages_added_up_as_theirs_are() -> None:
    (result,) = paper_stages.rows("memcached", [stages(paper_stages.UNLOADED, 0.01)])
    assert result == (
        "stages unloaded, mean µs",
        (
            "RX 0.9 · TCP/IP 4.7 · EPoll 3.9 · libevent 2.4 · Read 2.5 · memcached 2.5 · Write 4.6"
            " · total 21.5"
        ),
        (
            "RX 1 · TCP/IP 2 · EPoll 3 · libevent 4 · Read 5 · memcached 6.5 · Write 7"
            " · residual – · total 30 (0.01)"
        ),
        "L12",
    )
    switched, interfered = (
        paper_stages.rows("memcached", [stages(c, 0.9)])[0]
        for c in (paper_stages.CONTEXT_SWITCH, paper_stages.INTERFERENCE)
    )
    assert switched[1].endswith("Write 3.9 · total 18.7")
    assert interfered[1].endswith(
        "EPoll 3780 · libevent 4545 · Read 7 · memcached 4 · Write 5 · total 8349"
    )


@pytest.mark.parametrize(
    ("kind", "fraction", "named"),
    [
        ("memcached", 0.1, ["C8 at 10 %"]),
        ("memcached", 0.19, ["C8 at 10 %"]),
        ("memcached", 0.21, []),
        ("memcached", 0.9, ["L12 at 100 %", "C8 at 90 %"]),
        ("memcached", 0.81, ["C8 at 90 %"]),
        ("nginx", 0.1, ["C9 at 10 %"]),
        ("nginx", 0.95, ["C9 at 95 %"]),
        ("serve", 0.9, []),
    ],
)
def test_a_load_of_the_papers_has_the_nearest_of_ours_within_ten_points(
    kind: str, fraction: float, named: list[str]
) -> None:
    far = stages(paper_stages.LOADED, 0.5)
    result = paper_stages.rows(kind, [far, stages(paper_stages.LOADED, fraction)])
    assert [f"{r[3]} {r[0].removeprefix('stages loaded ').split(',')[0]}" for r in result] == named
    assert all(f"({fraction:g})" in row[2] for row in result)


def test_a_network_of_the_second_paper_is_interrupt_and_protocol() -> None:
    (result,) = paper_stages.rows("nginx", [stages(paper_stages.LOADED, 0.1)])
    assert result[1] == (
        "Network 9 · Epoll 13 · Libevent 11 · Read 1 · Open 4 · NGINX 12 · Send 26 · total 76"
    )
    assert result[2].startswith("Network 3 · Epoll 3 · Libevent 4 · Read 5 · Open 0.5 · NGINX 6")
    (mc,) = paper_stages.rows("memcached", [stages(paper_stages.LOADED, 0.1)])
    assert mc[2].startswith("Network 3 · Epoll 3 · Libevent 4 · Read 5 · Memcached 6.5 · Send 7 ")
    assert not paper_stages.rows("nginx", [replace(stages(paper_stages.LOADED, 0.1), stages=())])


def test_times_of_a_stage_have_three_digits_and_whole_microseconds_from_a_millisecond() -> None:
    assert [paper_stages._us(ns) for ns in (None, 999_499.0, 1_234_567.0, 12.0)] == [
        "–",
        "999",
        "1235",
        "0.012",
    ]
