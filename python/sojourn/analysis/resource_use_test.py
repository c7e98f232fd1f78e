"""Boxes of samples at the QoS crossing, and what is said to be critical."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sojourn.analysis import resource_use, sample_box
from sojourn.errors import StoreFault
from sojourn.findings.measured import Measured
from sojourn.findings.resource_use import CpuTrend, ResourceUse
from sojourn.plan import Phase, Point
from sojourn.plan.points import Outcome, Verdict
from sojourn.plan.posterior import Posterior
from sojourn.samples import resources as read
from sojourn.samples.resources import Resources

CAPACITY = {
    "service_cpu_share": 1.0,
    "thread_cpu_share_max": 1.0,
    "server_busy_share": 1.0,
    "machine_busy_share": 1.0,
    "resident_bytes": 1e9,
}
S = 1_000_000_000


def outcome(rps: float) -> Outcome:
    point = Point(
        key=f"a/sweep/{rps}",
        service="a",
        phase=Phase.SWEEP,
        repeat=0,
        fraction=rps / 1000,
        offered_rps=rps,
        measure_s=1.0,
        warmup_s=0.0,
        seed=1,
    )
    return Outcome(
        point=point,
        verdict=Verdict.HOLDS,
        reasons=(),
        offered_rps=rps,
        achieved_rps=rps,
        requests=100,
        over_bound=0,
        lost=0,
        mean_ns=1.0,
        p50_ns=1.0,
        p95_ns=1.0,
        p99_ns=1.0,
        correlation=1.0,
        wall_s=1.0,
        folder="",
    )


def run(rps: float, columns: Mapping[str, list[float]]) -> Measured:
    own = Resources(
        names=tuple(columns),
        values=np.array(list(columns.values())),
        capacity=CAPACITY,
        not_counted={"llc_bytes": "no resctrl here"},
        probe_share=0.002,
    )
    return Measured(outcome=outcome(rps), resources=own)


def cpu(rps: float, *shares: float) -> Measured:
    return run(rps, {"service_cpu_share": list(shares), "resident_bytes": [1e8] * len(shares)})


def border(at_rps: float) -> Posterior:
    """A target that is met below a load and missed above it."""
    rps = np.array([1.0, at_rps * 0.999, at_rps * 1.001, 1e5])
    return Posterior(rps=tuple(rps), holds=(1.0, 1.0, 0.0, 0.0))


def example_use(*runs: Measured, at_rps: float = 750.0) -> ResourceUse:
    use = resource_use.find(runs, "a", border(at_rps))
    assert use is not None
    return use


def test_the_sides_are_the_highest_load_that_holds_and_the_first_that_does_not() -> None:
    use = example_use(
        cpu(500, 0.5), cpu(690, 0.6), cpu(700, 0.7, 0.72), cpu(800, 0.9), cpu(900, 0.99)
    )
    holds, violated = use.sides
    assert (holds.what, holds.lo_rps, holds.hi_rps, holds.runs, holds.samples) == (
        "holds",
        690,
        700,
        2,
        3,
    )
    assert (violated.what, violated.lo_rps, violated.hi_rps) == ("violated", 800, 800)
    box = holds.uses[0].box
    assert (box.n, box.least, box.median, box.greatest) == (3, 0.6, 0.7, 0.72)
    assert [load.fraction for load in use.loads] == [0.5, 0.69, 0.7, 0.8, 0.9]


def test_the_trend_of_cpu_time_has_an_interval_over_runs_and_none_of_a_single_one() -> None:
    def sloped(rps: float, *slopes: float | None) -> list[Measured]:
        whole = cpu(rps, 0.5)
        assert whole.resources is not None
        return [
            replace(whole, resources=replace(whole.resources, cpu_trend_per_s=slope))
            for slope in slopes
        ]

    use = example_use(*sloped(700, 0.01, 0.03, None), *sloped(800, 0.02))
    holds, violated = (side.cpu_trend for side in use.sides)
    assert holds is not None
    assert holds.lo is not None
    assert holds.per_s == pytest.approx(0.02)
    assert holds.runs == 2
    assert holds.per_s - holds.lo == pytest.approx(12.706 * 0.01, rel=1e-3)  # Student, 1 degree
    assert violated == CpuTrend(per_s=0.02, lo=None, hi=None, runs=1)
    assert example_use(*sloped(700, None)).sides[0].cpu_trend is None


@pytest.mark.parametrize("lengths_s", [(10.0, 10.0, 10.0), (4.0, 10.0, 30.0), (4.0, 30.0, 30.0)])
def test_the_interval_of_the_trend_covers_that_of_runs_of_unequal_length(
    lengths_s: tuple[float, ...],
) -> None:
    """Nominal 95 %; of 1000 draws at least 92.9 % cover. A slope scatters by length^-1.5."""
    rng = np.random.default_rng(4)
    empty = Resources(names=(), values=np.empty((0, 0), np.float32))
    covered = 0
    for _ in range(1000):
        slopes = [0.01 + rng.normal(0, length_s**-1.5) for length_s in lengths_s]
        trend = resource_use._trend([replace(empty, cpu_trend_per_s=float(s)) for s in slopes])
        assert trend is not None
        assert trend.lo is not None
        assert trend.hi is not None
        covered += trend.lo <= 0.01 <= trend.hi
    assert covered >= 929


def test_quartiles_by_load_are_those_of_numpy() -> None:
    shares = [0.3, 0.1, 0.25, 0.9, 0.4]
    ((name, n, least, q1, middle, q3, most), _) = example_use(cpu(500, *shares)).loads[0].uses
    assert (name, n, least, most) == ("service_cpu_share", 5, 0.1, 0.9)
    assert [q1, middle, q3] == pytest.approx(list(np.quantile(shares, [0.25, 0.5, 0.75])))


def test_whiskers_end_at_samples_and_others_are_outliers() -> None:
    box = sample_box.box(np.array([0.0, 10.0, 11.0, 12.0, 13.0, 14.0, 99.0]))
    assert (box.lo, box.hi, box.outliers) == (10.0, 14.0, (0.0, 99.0))
    alone = sample_box.box(np.array([3.0]))
    assert (alone.lo, alone.q1, alone.median, alone.hi, alone.outliers) == (3, 3, 3, 3, ())


def test_a_resource_is_critical_only_where_three_quarters_of_its_samples_say_so() -> None:
    high = example_use(cpu(700, 0.7, 0.71), cpu(800, 0.9, 0.95, 0.97))
    assert high.critical == ("CPU of the service",)
    assert "memcached" not in high.sentence
    assert "a uses 70 % (70 to 71) of its CPUs" in high.sentence
    assert "Critical at the first load that misses it" in high.sentence
    spread = example_use(cpu(700, 0.7), cpu(800, 0.1, 0.2, 0.95, 0.97))
    assert spread.critical == ()
    assert "What is critical is unknown" in spread.sentence
    assert "No more than half of what it can take here: resident memory." in spread.sentence
    assert "Last-level cache is not counted here." in spread.sentence


@pytest.mark.parametrize(
    ("own", "server", "machine", "critical"),
    [
        (0.7, 0.99, 0.9, ("its CPUs, busy", "CPU of the machine")),  # the rest is interrupts
        (0.9, 0.99, 0.99, ("CPU of the service",)),
        (0.3, 1.0, 1.0, ()),
        (0.3, 0.35, 0.95, ()),
        (None, 1.0, 0.6, ()),
        (None, 0.5, 0.9, ()),
    ],
)
def test_full_cpus_are_critical_only_where_the_service_fills_them(
    own: float | None, server: float, machine: float, critical: tuple[str, ...]
) -> None:
    """A client that spins on the service's CPUs made them 100 % busy, and critical."""
    columns = {"server_busy_share": [server] * 3, "machine_busy_share": [machine] * 3}
    if own is not None:
        columns["service_cpu_share"] = [own] * 3
    for use in (example_use(run(700, columns), run(800, columns)), example_use(run(800, columns))):
        assert use.critical == critical
        is_said = "Others fill them, such as the client" in use.sentence
        assert is_said is (not critical and own is not None)
        assert ("is a was not counted" in use.sentence) is (own is None)
        assert ("What is critical is unknown" in use.sentence) is not bool(critical)


def test_a_borderline_load_may_miss_the_target_and_does_not_surely() -> None:
    unsure = Posterior(rps=(1.0, 699.0, 701.0, 1e5), holds=(1.0, 1.0, 0.44, 0.44))
    runs = [cpu(500, 0.5), cpu(800, 0.5)]
    use = resource_use.find(runs, "a", unsure)
    assert use is not None
    text = use.sentence
    assert "at the first load that may miss it (800 requests/s, 80 %; it holds with" in text
    assert "misses" not in text
    alone = resource_use.find(runs[1:], "a", unsure)
    assert alone is not None
    assert alone.sentence.startswith("At the first load that may miss QoS (800 requests/s")
    assert "at the first load that misses it (800 " in example_use(*runs).sentence


def test_a_resource_whose_capacity_is_not_known_is_never_critical() -> None:
    columns = {"service_cpu_share": [0.2], "network_rx_bytes_per_s": [9e9]}
    use = example_use(run(700, columns), run(800, columns))
    assert use.critical == ()
    assert "How much network it can take here is not known" in use.sentence


def test_one_side_alone_and_no_target() -> None:
    assert [side.what for side in example_use(cpu(700, 0.5)).sides] == ["holds"]
    assert [side.what for side in example_use(cpu(800, 0.5)).sides] == ["violated"]
    free = resource_use.find([cpu(500, 0.5), cpu(800, 0.9)], "a", None)
    assert free is not None
    assert [(side.what, side.hi_rps) for side in free.sides] == [("highest", 800)]
    assert free.critical == ()


def test_runs_that_are_not_believed_or_have_no_samples_do_not_count() -> None:
    old = Measured(outcome=outcome(700))
    doubted = replace(cpu(700, 0.9), outcome=replace(outcome(700), verdict=Verdict.UNKNOWN))
    empty = run(700, {"service_cpu_share": []})
    assert resource_use.find([old, doubted, empty], "a", border(750)) is None


def test_samples_that_could_not_be_told_are_left_out() -> None:
    use = example_use(cpu(700, 0.5, float("nan"), 0.7))
    assert use.sides[0].uses[0].box.n == 2


TABLE = {
    "schema": "sojourn.resources/1",
    "period_s": 1.0,
    "cpus": 2,
    "probe": {"cpu_s": 0.01, "wall_s": 5.0, "is_apart": True},
    "end_unix_ns": [2 * S, 3 * S, 4 * S, 5 * S],
    "length_s": [1.0] * 4,
    "is_late": [False, False, True, False],
    "columns": {"service_cpu_share": [0.1, None, 0.3, 0.4]},
    "measured_unix_ns": [2 * S, 4 * S],
}


def test_only_samples_of_the_measured_part_are_read(tmp_path: Path) -> None:
    assert read.read(tmp_path) is None  # a record from before
    (tmp_path / "resources.json").write_text(json.dumps(TABLE))
    own = read.read(tmp_path)
    assert own is not None
    assert own.values.tolist() == [[pytest.approx(float("nan"), nan_ok=True), pytest.approx(0.3)]]
    assert (own.late, own.probe_share) == (1, 0.002)
    (tmp_path / "resources.json").write_text(json.dumps(TABLE | {"length_s": [1.0]}))
    with pytest.raises(StoreFault, match="not of one length"):
        read.read(tmp_path)
    (tmp_path / "resources.json").write_text(json.dumps(TABLE | {"schema": "sojourn.resources/2"}))
    with pytest.raises(StoreFault, match="version 2"):
        read.read(tmp_path)
