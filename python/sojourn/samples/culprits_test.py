from __future__ import annotations

import json
from pathlib import Path

from sojourn.samples import culprits


def task(name: str, rate: float, longest: float | None, *, exact: bool = True) -> dict[str, object]:
    return {
        "task": name,
        "tid": 1,
        "runs_over_0_3ms_per_s": rate,
        "longest_ms": longest,
        "cpu_share": 0.01,
        "is_exact": exact,
    }


def test_tasks_of_one_name_are_one_culprit_and_the_worst_comes_first(tmp_path: Path) -> None:
    seen = [task("daemon", 1.0, 2.0), task("kdamond.0", 2.6, 8.0), task("daemon", 0.5, 3.0)]
    (tmp_path / "host.json").write_text(json.dumps({"culprits": seen}))
    first, second = culprits.read(tmp_path)
    assert (first.task, first.longest_ms) == ("kdamond.0", 8.0)
    assert (second.long_runs_per_s, second.longest_ms, second.cpu_share) == (1.5, 3.0, 0.02)
    assert second.is_exact


def test_what_is_only_bounded_stays_so() -> None:
    (one,) = culprits.merged([task("a", 1.0, None, exact=False), task("a", 1.0, None)])
    assert (one.longest_ms, one.is_exact) == (None, False)


def test_no_one_looked(tmp_path: Path) -> None:
    assert culprits.read(tmp_path) == ()
    (tmp_path / "host.json").write_text("{}")
    assert culprits.read(tmp_path) == ()


def test_their_processes_are_there_the_busiest_first_and_older_records_have_none() -> None:
    seen = [
        {**task("xz", 1.0, 2.0), "pid": 12},
        {**task("xz", 1.0, 2.0), "pid": 34, "cpu_share": 0.5},
        {**task("xz", 1.0, 2.0), "pid": 12},
        {**task("old", 0.5, 2.0)},
        {**task("outside", 0.4, 2.0), "pid": 0},
    ]
    assert [one.pids for one in culprits.merged(seen)] == [(34, 12), (), ()]
