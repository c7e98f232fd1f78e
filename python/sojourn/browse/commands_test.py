"""What is typed to see runs gives these runs, with the verdicts of the page."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn import store
from sojourn.browse import commands, records
from sojourn.browse.commands import KEYS_MOST
from sojourn.plan import next_point
from sojourn.plan.points import Course, Phase
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import Setting
from sojourn.plan.simulated import study
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS

ASKED = study(profile="quick")
RPS = 1e5 / 3  # as a decimal it would be another number


def measure(
    record: OpenRecord, count: int, *, course: Course = Course.STEADY, **under: Any
) -> None:
    first = next_point(ASKED, [], PLANS)
    assert first is not None
    for _ in range(count):
        at = len(record.outcomes())
        point = replace(first, key=f"it's {at}", repeat=at, offered_rps=RPS, **under)
        outcome = replace(imagine(point), course=course, folder=str(record.folder(point)))
        record.add(outcome)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Loads of which some have few runs and some many; and a copy of the machine's folder."""
    folder = tmp_path / "results"
    with store.open(folder, ASKED, machine="m") as record:
        for threads in (2, 4):
            setting = Setting.of(rate=RPS, threads=threads)
            measure(record, KEYS_MOST, phase=Phase.SEARCH, setting=setting)
            measure(record, 1, phase=Phase.SEARCH, setting=setting, course=Course.MOVES)
            measure(record, 2, phase=Phase.CONFIRM, setting=setting)
            measure(record, 2, phase=Phase.SCHEDULED, setting=setting)
        more = Setting.of(rate=RPS, threads=2, size="a 'b'")
        measure(record, KEYS_MOST + 1, phase=Phase.SEARCH, setting=more)
    shutil.copytree(record.path.parent, record.path.parent.with_name("copy"))
    return folder


def the_record(results: Path) -> Path:
    return next((results / ASKED.name / "m").iterdir())


def test_the_query_of_a_load_gives_its_runs_and_no_others(results: Path) -> None:
    path = the_record(results)
    seen = records.seen(path)
    sizes = []
    for curve in seen.curves:
        (load,) = curve.loads
        sizes.append(len(load.runs))
        name = str(path.relative_to(results))
        *words, query = shlex.split(commands.of_runs(results, name, curve, load))
        assert words == ["sojourn", "sql", "--results", str(results)]
        columns, rows = store.query(results, query)
        assert columns[:2] == ["key", "verdict"]
        verdicts = [str(run.verdict) if run.is_believed else "unknown" for run in load.runs]
        keys = [run.point.key for run in load.runs]
        assert sorted(row[:2] for row in rows) == sorted(zip(keys, verdicts, strict=True))
    assert sorted(sizes) == [2, 2, KEYS_MOST + 1, KEYS_MOST + 3, KEYS_MOST + 3]


def test_the_commands_of_a_record_mean_it_and_no_copy(results: Path) -> None:
    path = the_record(results)
    lines = commands.of_record(results, str(path.relative_to(results)))
    show, report, table = (shlex.split(command) for _, command in lines)
    assert store.resolve(results, show[-1]) == store.resolve(results, report[-1]) == path
    assert len(store.query(results, table[-1])[1]) == len(records.seen(path).outcomes)


def test_a_name_that_looks_like_an_option_is_none() -> None:
    (_, show), *_ = commands.of_record(Path("results"), "--export=html=x/m/r")
    assert shlex.split(show) == ["sojourn", "show", "--", "--export=html=x/m/r"]
