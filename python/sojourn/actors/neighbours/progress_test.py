"""What neighbours say of their progress: read, cut to the load, summed, judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.actors.neighbours.progress import ProgressFacts, Second, quantile, read, within

S = 1_000_000_000


def reported(
    *per_s: float, asked: float | None = 500.0, waited_s: float = 0.0, is_flat_out: bool = False
) -> ProgressFacts:
    seconds = tuple(
        Second(at_ns=(n + 1) * S, length_s=1.0, per_s=p, asked_per_s=asked, waited_s=waited_s)
        for n, p in enumerate(per_s)
    )
    return ProgressFacts(
        unit="blocks",
        alone_per_s=1000.0,
        per_wait_s=1000.0,
        is_flat_out=is_flat_out,
        seconds=seconds,
    )


def test_a_log_is_read_past_what_is_for_people(tmp_path: Path) -> None:
    log = tmp_path / "neighbour-0.log"
    first = {"unit": "lines", "alone_per_s": 9.0, "asked_per_s": 3.0, "is_flat_out": False}
    second = {
        "unit": "lines",
        "at_ns": 7,
        "length_s": 1.0,
        "achieved_per_s": 2.0,
        "asked_per_s": 3.0,
        "runq_wait_s": None,
    }
    last = {"is_summary": True, **second}
    lines = ["warming up", json.dumps(first), json.dumps(second), json.dumps(last), '{"unit": "li']
    log.write_text("\n".join(lines))
    text = read(log)
    assert text is not None
    assert (text.unit, text.alone_per_s, text.is_flat_out) == ("lines", 9.0, False)
    assert [second.per_s for second in text.seconds] == [2.0]
    assert text.seconds[0].waited_s is None


def test_who_says_nothing_has_no_progress(tmp_path: Path) -> None:
    assert read(tmp_path / "none") is None
    (tmp_path / "log").write_text("hello\n")
    assert read(tmp_path / "log") is None


def test_only_whole_seconds_within_the_load_count() -> None:
    progress = within([reported(0, 500, 500, 0)], 1 * S, 3 * S + 5, tolerance=0.1)
    assert progress is not None
    assert progress.each_per_s == (500, 500)
    assert within([reported(1.0)], 2 * S, 9 * S, tolerance=0.1) is None
    assert within([reported(1.0, 1.0)], round(1.6 * S), 9 * S, tolerance=0.1) is None
    assert within([], 0, S, tolerance=0.1) is None


@pytest.mark.parametrize(("from_s", "to_s"), [(1.2, 1.8), (0.8, 2.1), (1.45, 2.45), (0.6, 1.9)])
def test_of_a_load_that_holds_no_whole_second_the_one_with_most_of_it_counts(
    from_s: float, to_s: float
) -> None:
    of_load = [reported(0, 500, 0)], round(from_s * S), round(to_s * S)
    progress = within(*of_load, tolerance=0.1)
    assert progress is not None
    assert progress.each_per_s == (500,)


def test_tasks_are_summed_second_by_second() -> None:
    progress = within([reported(500, 510), reported(490, 500)], 0, 9 * S, tolerance=0.1)
    assert progress is not None
    assert progress.each_per_s == (990, 1010)
    assert (progress.per_s, progress.asked_per_s, progress.alone_per_s) == (1000, 1000, 2000)
    assert progress.of_alone == 0.5
    assert progress.lost == 0.0
    assert not progress.problem


@pytest.mark.parametrize(
    ("did", "waited_s", "why"),
    [
        (480, 0.0, ""),
        (300, 0.0, "300"),
        (300, 0.2, ""),
        (200, 0.2, "waited for a CPU for only 20.0%"),
        (600, 0.0, "above"),
    ],
)
def test_a_loss_by_waiting_is_a_loss_and_any_other_a_doubt(
    did: float, waited_s: float, why: str
) -> None:
    progress = within([reported(did, did, waited_s=waited_s)], 0, 9 * S, tolerance=0.1)
    assert progress is not None
    assert bool(progress.problem) == bool(why)
    assert why in progress.problem
    assert not why or (f"{did:.4g}" in progress.problem and "asked 500" in progress.problem)


def test_a_long_piece_of_work_counts_for_as_long_as_it_took() -> None:
    """A second of 4 units and three of none together: 1 unit/s, not the mean of 4 and 0."""
    seconds = (
        Second(at_ns=1 * S, length_s=1.0, per_s=4.0),
        Second(at_ns=4 * S, length_s=3.0, per_s=0.0),
    )
    progress = within([ProgressFacts(unit="files", seconds=seconds)], 0, 9 * S, tolerance=0.1)
    assert progress is not None
    assert progress.per_s == 1.0


def test_errors_of_tasks_that_are_alone_add_up_as_variances(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = {"unit": "files", "alone_per_s": 4.0, "alone_error_per_s": 3.0}
    second = {"unit": "files", "at_ns": S, "length_s": 1.0, "achieved_per_s": 2.0}
    log.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    one = read(log)
    assert one is not None
    progress = within([one, replace(one, alone_error_per_s=4.0)], 0, 9 * S, tolerance=0.1)
    assert progress is not None
    assert (progress.alone_per_s, progress.alone_error_per_s, progress.error_per_s) == (
        8.0,
        5.0,
        None,
    )


def test_flat_out_holds_nothing_and_is_told_against_alone() -> None:
    progress = within([reported(300, asked=1000.0, is_flat_out=True)], 0, 9 * S, tolerance=0.1)
    assert progress is not None
    assert not progress.problem
    assert progress.as_json()["of_alone"] == pytest.approx(0.3)
    assert progress.as_json()["lost_share"] == pytest.approx(0.7)


def test_quantiles_are_values_that_were_seen() -> None:
    assert quantile([1.0], 0.05) == 1.0
    values = [float(n) for n in range(101)]
    assert (quantile(values, 0.05), quantile(values, 0.95)) == (5.0, 95.0)
