import json
from dataclasses import replace
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from sojourn.errors import SpecFault
from sojourn.models.points import GRID, Measured, read_points, shape_of, together


def _run(rate: float, p50: float, *, is_believed: bool = True) -> Measured:
    return Measured(rate_rps=rate, mean=p50, p50=p50, p95=None, p99=None, is_believed=is_believed)


def test_points_are_read_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("rate_rps,mean_ns,p50_ns,p95_ns,p99_ns,cpu_share\n1000,5,4,9,,0.25\n")
    assert read_points(path) == [
        Measured(rate_rps=1000, mean=5, p50=4, p95=9, p99=None, cpu_share=0.25)
    ]


def test_runs_at_a_load_are_one_point_and_the_disbelieved_do_not_count() -> None:
    runs = [_run(1000, 7), _run(1010, 5), _run(990, 90, is_believed=False), _run(2000, 8)]
    first, second = together(runs)
    assert (first.p50, first.runs, first.spread) == (5, 2, {"mean": (5, 7), "p50": (5, 7)})
    assert (second.p50, second.runs, second.rate_rps) == (8, 1, 2000)
    (only,) = together([_run(1000, 90, is_believed=False), _run(1000, 95, is_believed=False)])
    assert only.p50 == 90


def test_quiet_runs_are_chosen_by_cpu_time_and_never_by_latency() -> None:
    busy = ((5, 0.9), (9, 0.3), (8, 0.2), (1, 0.8))
    runs = [replace(_run(1000, p50), cpu_share=share) for p50, share in busy]
    (point,) = together(runs, quiet=0.5)
    assert (point.p50, point.runs, point.cpu_share) == (8, 2, 0.2)
    with pytest.raises(SpecFault, match="quiet"):
        together(runs, quiet=0)


@pytest.mark.parametrize(("lost", "has_shape"), [(0, True), (1, False)])
def test_the_shape_of_a_record_is_its_histograms_unless_some_are_infinite(
    tmp_path: Path, lost: int, *, has_shape: bool
) -> None:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for ns, times in ((1000, 3), (500_000, 1)):
        histogram.record_value(ns, times)
    span = {"mean": 5.0, "p50": 4, "p95": 9, "p99": 12, "lost": lost}
    span["hdr"] = histogram.encode().decode()
    result = {"offered_rps": 1000, "sojourn_ns": span}
    (tmp_path / "one.json").write_text(json.dumps(result))
    (point,) = read_points(tmp_path)
    assert bool(point.shape) is has_shape
    if has_shape:
        short = [ns for ns in point.shape if ns < 2000]
        assert len(short) == pytest.approx(0.75 * GRID, abs=1)
        assert len(point.shape) == GRID
        assert point.shape[-1] == pytest.approx(500_000, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nothing.csv", None, "cannot read"),
        ("empty.csv", "rate_rps,mean_ns\n", "no points"),
        ("words.csv", "rate_rps,mean_ns\nfast,1\n", "cannot read"),
    ],
)
def test_what_is_no_table_of_points_is_refused(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SpecFault, match=message):
        read_points(tmp_path / name)


def test_loads_up_to_4_percent_above_the_lowest_of_them_are_one() -> None:
    rates = (1000, 1039, 1041, 1082, 1083.5)
    measured = together([_run(rate, 5) for rate in rates])
    assert [(p.runs, p.rate_rps) for p in measured] == [(2, 1019.5), (2, 1061.5), (1, 1083.5)]


def test_the_lower_of_the_two_in_the_middle_counts_and_a_missing_number_is_infinite() -> None:
    runs = [
        replace(_run(1000, p50), p95=p95, p99=None, cpu_share=share)
        for p50, p95, share in ((4, 9.0, 0.1), (8, None, 0.2), (6, 7.0, 0.4), (5, None, 0.3))
    ]
    (point,) = together(runs)
    assert (point.mean, point.p50, point.p95, point.p99) == (5, 5, 9.0, None)
    assert (point.cpu_share, point.runs) == (0.2, 4)
    assert point.spread == {
        "mean": (4, 8),
        "p50": (4, 8),
        "p95": (7.0, float("inf")),
        "cpu_share": (0.1, 0.4),
    }
    (lost,) = together([replace(run, p95=None) for run in runs])
    assert lost.p95 is None


def test_the_shape_is_that_of_the_run_whose_median_is_in_the_middle() -> None:
    a, b = (1.0, 1.0, 2.0, 7.0), (1.0, 4.5, 5.0, 50.0)
    c, d = (1.0, 2.0, 6.0, 9.0), (0.0, 3.0, 9.0, 9.0)
    (point,) = together([replace(_run(1000, 5), shape=shape) for shape in (d, a, (), b, c)])
    assert point.shape == b  # of 2, 5, 6 and 9 the lower in the middle
    (bare,) = together([_run(1000, 5), _run(1000, 5)])
    assert bare.shape == ()


def test_quiet_runs_are_those_with_the_least_cpu_time_per_request_rounded_up() -> None:
    """Half of three is two; at a higher rate the same share is less per request."""
    busy = ((1000, 5, 0.30), (1030, 6, 0.303), (1000, 7, 0.9), (1000, 8, None))
    runs = [replace(_run(rate, p50), cpu_share=share) for rate, p50, share in busy]
    (point,) = together(runs, quiet=0.5)
    assert (point.runs, point.spread and point.spread["p50"]) == (2, (5, 6))
    (one,) = together(runs, quiet=0.3)
    assert (one.runs, one.p50) == (1, 6)
    (whole,) = together(runs, quiet=1.0)
    assert whole.runs == 4
    (blind,) = together([_run(1000, 5), _run(1000, 6)], quiet=0.5)
    assert blind.runs == 2
    for wrong in (-0.1, 1.1):
        with pytest.raises(SpecFault, match="quiet"):
            together(runs, quiet=wrong)


def test_a_histogram_s_places_are_the_middles_of_equal_parts() -> None:
    """Of 100 and 300 requests the first quarter of the places has the first."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    histogram.record_value(1_000, 100)
    histogram.record_value(2_000, 300)
    ndarray = shape_of(histogram.encode().decode())
    assert len(ndarray) == GRID == 400
    assert (ndarray[99], ndarray[100]) == (
        pytest.approx(1_000, rel=1e-3),
        pytest.approx(2_000, rel=1e-3),
    )
    empty = HdrHistogram(1, 3_600_000_000_000, 3)
    assert shape_of(empty.encode().decode()).size == 0


def test_a_run_that_the_lab_does_not_believe_is_read_as_such(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("rate_rps,mean_ns,verdict\n1000,5,unknown\n2000,6,violated\n")
    assert [p.is_believed for p in read_points(path)] == [False, True]
    span = {"mean": 5.0, "p50": 4, "p95": 9, "p99": 12}
    for name, verdict in (("a", "unknown"), ("b", "holds")):
        result = {
            "offered_rps": 1000 if name == "a" else 2000,
            "sojourn_ns": span,
            "verdict": verdict,
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
    (tmp_path / "points.csv").unlink()
    assert [p.is_believed for p in read_points(tmp_path)] == [False, True]
    assert [p.cpu_share for p in read_points(tmp_path)] == [None, None]
    assert Measured(rate_rps=1, mean=1, p50=1, p95=1, p99=1).is_believed


def test_a_fault_of_a_table_is_in_words(tmp_path: Path) -> None:
    table = tmp_path / "points.csv"
    for text, what in ((None, "No such file"), ("load,mean_ns\n1,1\n", "there is no 'rate_rps'")):
        if text is not None:
            table.write_text(text)
        with pytest.raises(SpecFault, match=what) as caught:
            read_points(table)
        assert "Error(" not in caught.value.what
