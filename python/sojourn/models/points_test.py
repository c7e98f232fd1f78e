import json
from dataclasses import replace
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from sojourn.errors import SpecFault
from sojourn.models.points import GRID, Measured, read_peak, read_points, together


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


def test_a_record_gives_its_sweep_and_not_what_was_stopped_half_way(tmp_path: Path) -> None:
    span = {"mean": 5.0, "p50": 4, "p95": 9, "p99": 12, "lost": 0, "hdr": ""}
    result = {
        "offered_rps": 1000,
        "achieved_rps": 90_000,
        "sojourn_ns": span,
        "checks": {"server_idle_share": 0.75},
    }
    for name, is_whole in (("1-x-sweep-b0", True), ("2-x-sweep-b1", False), ("3-x-peak-r0", True)):
        folder = tmp_path / "points" / name
        folder.mkdir(parents=True)
        (folder / "load.json").write_text(json.dumps(result) if is_whole else "")
        if is_whole:
            (folder / "outcome.parquet").touch()
    (point,) = read_points(tmp_path)
    assert (point.rate_rps, point.cpu_share, point.p99) == (1000, 0.25, 12)
    assert read_peak(tmp_path) == 90_000
    assert read_peak(tmp_path / "points" / "1-x-sweep-b0") is None


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
    ("name", "text", "said"),
    [("nothing.csv", None, "cannot read"), ("empty.csv", "rate_rps,mean_ns\n", "no points"),
     ("words.csv", "rate_rps,mean_ns\nfast,1\n", "cannot read")],
)  # fmt: skip
def test_what_is_no_table_of_points_is_refused(
    tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SpecFault, match=said):
        read_points(tmp_path / name)
