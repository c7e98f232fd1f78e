"""Whether the best manager is surely that."""

from __future__ import annotations

import pytest

from sojourn.questions.manager_league.judge import sentence
from sojourn.questions.manager_league.rows import Row, best, rivals
from sojourn.stats.interval import Interval


def made(manager: str, work: float, half: float, violated: float = 0.0) -> Row:
    return Row(
        manager=manager,
        load=0.5,
        seconds=10,
        violated=violated,
        violated_interval=Interval(lo=max(0.0, violated - 0.05), hi=violated + 0.05),
        work=work,
        work_interval=Interval(lo=work - half, hi=work + half),
    )


@pytest.mark.parametrize(
    ("half", "others"),
    [(0.02, ""), (0.06, "; 1 other may keep as much"), (0.3, "; 2 others may keep as much")],
)
def test_others_of_which_intervals_overlap_may_keep_as_much(half: float, others: str) -> None:
    """One that violates surely more is none of them, however much it keeps."""
    rows = [made("a", 0.6, half), made("b", 0.5, half), made("c", 0.3, half)]
    rows.append(made("d", 0.9, half, violated=0.9))
    first = best(rows)
    assert first is not None
    assert first.manager == "a"
    assert [one.manager for one in rivals(rows)] == ["b", "c"][: len(others) and int(others[2])]
    assert sentence(rows, 0.5).endswith(f"with 0.0 of 10 s violated{others}.")
