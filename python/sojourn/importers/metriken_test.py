"""Parquet of rezolus and cachecannon: bins, snapshots, and foreign files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers.metriken_bins import Bins
from sojourn.importers.testing import content, put

ABOUT = {
    "metric": "response_latency",
    "metric_type": "histogram",
    "grouping_power": "3",
    "max_value_power": "40",
    "source": "cachecannon",
}
STAMPS = [10**18, 10**18 + 10**9, 10**18 + 3 * 10**9]


def write(
    folder: Path,
    snapshots: Any,
    *,
    about: dict[str, str] | None = None,
    stamps: Sequence[int | None] = STAMPS,
    errors: Sequence[int] = (0, 1, 4),
    kind: pa.DataType | None = None,
) -> Path:
    """A recording of three snapshots with one histogram and one counter."""
    fields = [
        pa.field("timestamp", pa.uint64()),
        pa.field("request_errors", pa.uint64()),
        pa.field("h:buckets", kind or pa.list_(pa.uint64()), metadata={**ABOUT, **(about or {})}),
    ]
    columns = [list(stamps), list(errors), snapshots]
    table = pa.table(
        [pa.array(column, f.type) for column, f in zip(columns, fields, strict=True)],
        schema=pa.schema(fields),
    )
    path = folder / "run.parquet"
    pq.write_table(table, path)
    return path


def test_bins_leave_no_gap_and_hold_every_value() -> None:
    bins = Bins(3, 20)
    lo, hi = bins.edges(np.arange(bins.number))
    assert lo[0] == 0
    assert hi[-1] == 2**20 - 1
    assert (lo[1:] == hi[:-1] + 1).all()
    assert ((hi - lo + 1) / np.maximum(lo, 1))[16:].max() == 1 / 8, "an eighth of a power of two"


def test_the_run_is_the_last_snapshot_less_the_first(tmp_path: Path) -> None:
    first, then, last = [5, 0, 2], [6, 1, 2], [6, 4, 2, 9]
    _, (series,) = importers.read(write(tmp_path, [first, then, last]))
    assert series.times
    assert series.times.lo_ns.tolist() == [0, 1, 3]
    assert series.times.count.tolist() == [1, 4, 9]
    assert [times.n for times in series.slices] == [2, 12]
    assert (series.requests, series.seconds) == (10, 3.0)
    assert sum(series.failed.values()) == 4, "of the 14 in its histogram"
    assert series.facts.clock == "send"


def test_a_recording_of_both_programs_has_as_many_times_as_its_counter_counts(
    tmp_path: Path,
) -> None:
    path = put(tmp_path, content("rezolus-combined.parquet"))
    received = pq.read_table(path, columns=["0::responses_received"]).column(0).to_pylist()
    _, (load, *kernel) = importers.read(path)
    assert load.requests
    assert abs(load.requests - (received[-1] - received[0])) <= 1, "a snapshot takes a moment"
    assert load.seconds == pytest.approx(6, abs=0.01)
    assert {one.facts.loop for one in kernel} == {"not a load"}
    assert kernel[0].name == "scheduler_runqueue_latency/rezolus-server"


def test_counters_alone_are_refused_with_the_version(tmp_path: Path) -> None:
    path = put(tmp_path, content("cachecannon-counters.parquet"))
    with pytest.raises(SpecFault, match="wrote counters alone") as caught:
        importers.read(path)
    assert "0.0.14" in caught.value.fix


def test_a_snapshot_without_the_histogram_is_passed_over(tmp_path: Path) -> None:
    _, (series,) = importers.read(write(tmp_path, [None, [1], [3]]))
    assert (series.requests, series.seconds) == (2, 2.0)


def test_the_sparse_form_gives_the_same(tmp_path: Path) -> None:
    fields = [
        pa.field("timestamp", pa.uint64()),
        pa.field("h:bucket_indices", pa.list_(pa.uint64()), metadata=ABOUT),
        pa.field("h:bucket_counts", pa.list_(pa.uint64()), metadata=ABOUT),
    ]
    columns = [STAMPS, [[0], [0, 20], [20, 0]], [[5], [6, 1], [7, 6]]]
    table = pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, fields, strict=True)],
        schema=pa.schema(fields),
    )
    pq.write_table(table, tmp_path / "run.parquet")
    _, (series,) = importers.read(tmp_path / "run.parquet")
    assert series.times
    assert series.times.count.tolist() == [1, 7]
    assert series.times.lo_ns.tolist() == [0, 24]


@pytest.mark.parametrize(
    ("snapshots", "more", "what"),
    [
        ([[5], [6], [4]], {}, "less than one snapshot before"),
        ([[5], [5], [5]], {}, "no histogram in it grew"),
        ([[1], None, None], {}, "no histogram in it grew"),
        ([[0] * 400, [0] * 400, [1] * 400], {}, "other bins than its description"),
        ([[0], [0], [2**60]], {}, "more than 9,007"),
        ([[0], [0], [1]], {"stamps": STAMPS[::-1]}, "timestamps do not ascend"),
        ([[0], [0], [1]], {"stamps": [None, 1, None]}, "timestamps do not ascend"),
        ([[0], [0], [1]], {"about": {"grouping_power": "x"}}, "bins of the powers 'x'"),
        ([[0], [0], [1]], {"about": {"max_value_power": "99"}}, "bins of the powers"),
        ([[0], [0], [1]], {"about": {"grouping_power": "²"}}, "bins of the powers"),
        ([[0], [0], [1]], {"about": {"metric_type": "gauge"}}, "no column is a histogram"),
        ([0, 0, 1], {"kind": pa.uint64()}, "no lists of whole numbers"),
        ([["a"], ["b"], ["c"]], {"kind": pa.list_(pa.string())}, "no lists of whole numbers"),
    ],
)
def test_what_no_program_wrote_is_refused(
    snapshots: Any, more: dict[str, Any], what: str, tmp_path: Path
) -> None:
    path = write(tmp_path, snapshots, **more)
    with pytest.raises(SpecFault, match=what) as caught:
        importers.read(path)
    assert str(path) in caught.value.at
    assert caught.value.fix


def test_a_time_of_years_is_refused(tmp_path: Path) -> None:
    about = {"grouping_power": "0", "max_value_power": "64"}
    path = write(tmp_path, [[0] * 65, [0] * 65, [0] * 64 + [1]], about=about)
    with pytest.raises(SpecFault, match="longer than any request"):
        importers.read(path)


def test_another_programs_histogram_says_that_its_clock_is_not_known(tmp_path: Path) -> None:
    about = {"source": "vllm", "unit": "nanoseconds", "metric": "ttft", "replica": "2"}
    _, (series,) = importers.read(write(tmp_path, [[0], [1], [2]], about=about))
    assert (series.name, series.facts.clock) == ("ttft/2", "not known")
    assert not series.failed, "the counter is cachecannon's"


def test_another_parquet_is_named_as_that(tmp_path: Path) -> None:
    pq.write_table(pa.table({"sojourn_ns": [1, 2]}), tmp_path / "raw.parquet")
    with pytest.raises(SpecFault, match="no recording of rezolus or cachecannon"):
        importers.read(tmp_path / "raw.parquet")


def test_errors_of_all_requests_are_not_those_of_one_operation(tmp_path: Path) -> None:
    """cachecannon counts errors of gets and sets together."""
    whole = write(tmp_path, [[0], [5], [14]], about={"metric": "perceived_latency"})
    _, (both,) = importers.read(whole)
    assert (both.requests, both.is_failed_known) == (10, True)
    _, (gets,) = importers.read(write(tmp_path, [[0], [5], [14]], about={"metric": "get_latency"}))
    assert (gets.requests, dict(gets.failed), gets.is_failed_known) == (14, {}, False)
