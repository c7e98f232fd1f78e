"""What neighbours say of their progress: read, cut to the load, summed, judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.actors.neighbours.progress import Second, Told, quantile, read, within

S = 1_000_000_000


def told(
    *per_s: float, asked: float | None = 500.0, waited_s: float = 0.0, is_flat_out: bool = False
) -> Told:
    seconds = tuple(
        Second(at_ns=(n + 1) * S, length_s=1.0, per_s=p, asked_per_s=asked, waited_s=waited_s)
        for n, p in enumerate(per_s)
    )
    return Told(
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
    found = read(log)
    assert found is not None
    assert (found.unit, found.alone_per_s, found.is_flat_out) == ("lines", 9.0, False)
    assert [second.per_s for second in found.seconds] == [2.0]
    assert found.seconds[0].waited_s is None


def test_who_says_nothing_has_no_progress(tmp_path: Path) -> None:
    assert read(tmp_path / "none") is None
    (tmp_path / "log").write_text("hello\n")
    assert read(tmp_path / "log") is None


def test_only_whole_seconds_within_the_load_count() -> None:
    found = within([told(0, 500, 500, 0)], 1 * S, 3 * S + 5, tolerance=0.1)
    assert found is not None
    assert found.each_per_s == (500, 500)
    assert within([told(1.0)], 2 * S, 9 * S, tolerance=0.1) is None
    assert within([], 0, S, tolerance=0.1) is None


def test_tasks_are_summed_second_by_second() -> None:
    found = within([told(500, 510), told(490, 500)], 0, 9 * S, tolerance=0.1)
    assert found is not None
    assert found.each_per_s == (990, 1010)
    assert (found.per_s, found.asked_per_s, found.alone_per_s) == (1000, 1000, 2000)
    assert found.of_alone == 0.5
    assert found.lost == 0.0
    assert not found.problem


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
    found = within([told(did, did, waited_s=waited_s)], 0, 9 * S, tolerance=0.1)
    assert found is not None
    assert bool(found.problem) == bool(why)
    assert why in found.problem
    assert not why or (f"{did:.4g}" in found.problem and "asked 500" in found.problem)


def test_a_long_piece_of_work_counts_for_as_long_as_it_took() -> None:
    """A second of 4 units and three of none together: 1 unit/s, not the mean of 4 and 0."""
    seconds = (
        Second(at_ns=1 * S, length_s=1.0, per_s=4.0),
        Second(at_ns=4 * S, length_s=3.0, per_s=0.0),
    )
    found = within([Told(unit="files", seconds=seconds)], 0, 9 * S, tolerance=0.1)
    assert found is not None
    assert found.per_s == 1.0


def test_errors_of_tasks_that_are_alone_add_up_as_variances(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = {"unit": "files", "alone_per_s": 4.0, "alone_error_per_s": 3.0}
    second = {"unit": "files", "at_ns": S, "length_s": 1.0, "achieved_per_s": 2.0}
    log.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    one = read(log)
    assert one is not None
    found = within([one, replace(one, alone_error_per_s=4.0)], 0, 9 * S, tolerance=0.1)
    assert found is not None
    assert (found.alone_per_s, found.alone_error_per_s, found.error_per_s) == (8.0, 5.0, None)


def test_flat_out_holds_nothing_and_is_told_against_alone() -> None:
    found = within([told(300, asked=1000.0, is_flat_out=True)], 0, 9 * S, tolerance=0.1)
    assert found is not None
    assert not found.problem
    assert found.as_json()["of_alone"] == pytest.approx(0.3)
    assert found.as_json()["lost_share"] == pytest.approx(0.7)


def test_quantiles_are_values_that_were_seen() -> None:
    assert quantile([1.0], 0.05) == 1.0
    values = [float(n) for n in range(101)]
    assert (quantile(values, 0.05), quantile(values, 0.95)) == (5.0, 95.0)
