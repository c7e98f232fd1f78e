"""A summary saves reading, says what the slices said, and is never believed over newer files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sojourn import quantiles, samples, store
from sojourn.analysis import runs
from sojourn.analysis.study import study
from sojourn.analysis.testing import memcached, study_of
from sojourn.errors import StoreFault
from sojourn.findings.findings import Qos
from sojourn.findings.measured import StudyData
from sojourn.plan.next import next_point
from sojourn.record import cache as summary
from sojourn.record import summarised
from sojourn.record.load import study_data
from sojourn.record.point import measured_of
from sojourn.record.summarised import summary_of
from sojourn.samples import made
from sojourn.testing_questions import PLANS, answers, readers

ASKED = study_of(memcached(measure=["sweep"]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A record of three points with a log of 40 slices each, one of them with lost requests."""
    rng = np.random.default_rng(1)
    with store.open(tmp_path, ASKED, machine="test") as record:
        for number in range(3):
            point = next_point(ASKED, record.outcomes(), PLANS)
            assert point is not None
            folder = record.folder(point)
            times = rng.exponential(90_000, 4_000) + 10_000
            made.put_hlog(folder, np.array_split(times, 40))
            times[:number] = np.inf
            made.put(folder, point, made.result(times))
            record.add(replace(samples.read(folder), wall_s=2.0))
        return record.path


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The interval logs that were read."""
    seen: list[Path] = []

    def counted(at: Path) -> tuple[samples.Interval, ...]:
        seen.append(at)
        return samples.intervals(at)

    monkeypatch.setattr("sojourn.record.point.intervals", counted)
    return seen


def read(path: Path) -> StudyData:
    return study_data(store.read(path), PLANS, readers())


def test_a_report_reads_no_log_twice_and_finds_the_same(path: Path, logs: list[Path]) -> None:
    first = read(path)
    assert len(logs) == 2  # a sweep's points; the peak has no log that findings are made of
    again = read(path)
    assert len(logs) == 2
    assert study(again, answers()) == study(first, answers())
    run = study(again, answers()).services[0].points[0].runs[0]
    assert len(run.series) == 40


def test_a_summary_says_what_the_slices_say(path: Path) -> None:
    record = store.read(path)
    for outcome in record.outcomes()[1:]:
        folder = record.folder_of(outcome)
        own = measured_of(folder, outcome)
        for target in (None, Qos(q=0.99, bound_ns=3e5, rule="given")):
            retained = summary_of(folder, outcome, quantiles.ALL)
            assert retained.seconds == ()
            alone, judged = runs.judge(own, target), runs.judge(retained, target)
            assert (judged.run, judged.decision) == (alone.run, alone.decision)
            assert (judged.is_steady, judged.ratios) == (alone.is_steady, alone.ratios)
            assert runs.merged([judged]).quantile(0.9) == runs.merged([alone]).quantile(0.9)
            assert judged.measured.lateness_ns == alone.measured.lateness_ns


@pytest.mark.parametrize("what", ["log", "methods", "damage", "quantile", "form"])
def test_a_summary_that_is_no_longer_valid_is_made_again(
    path: Path, logs: list[Path], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(path)
    logs.clear()
    record = store.read(path)
    folder = record.folder_of(record.outcomes()[1])
    at = folder / summary.NAME
    table = json.loads(at.read_text(encoding="utf-8"))
    if what == "log":
        made.put_hlog(folder, [[1e5] * 100] * 20)
    elif what == "methods":
        monkeypatch.setattr(summary, "_methods", lambda: "others")
    elif what == "damage":
        at.write_text("{", encoding="utf-8")
    elif what == "quantile":
        ratios = [row for row in table["ratios"] if row[0] != 0.99]
        at.write_text(json.dumps({**table, "ratios": ratios}), encoding="utf-8")
    else:
        at.write_text(json.dumps({**table, "schema": "sojourn.summary/1"}), encoding="utf-8")
    read(path)
    assert len(logs) == (2 if what == "methods" else 1)
    logs.clear()
    read(path)
    assert logs == []


def test_a_folder_that_cannot_be_written_is_read_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(at: Path, text: str) -> None:
        raise StoreFault("read-only", at=str(at), fix="")

    before = study(read(path), answers())
    for retained in path.rglob(summary.NAME):
        retained.unlink()
    monkeypatch.setattr("sojourn.store.files.write_text", refused)
    assert study(read(path), answers()) == before
    assert not list(path.rglob(summary.NAME))


def test_many_points_are_summarised_by_all_cpus(
    path: Path, logs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarised, "TOGETHER", 2)
    findings = study(read(path), answers())
    assert logs == []  # of this process
    assert study(read(path), answers()) == findings
    assert len(list(path.rglob(summary.NAME))) == 2


@pytest.mark.parametrize(
    "name",
    [
        "run_stats.py",
        "times.py",
        "point.py",
        "interval.py",
        "raw.py",
        "contract.py",
        "histogram.py",
    ],
)
def test_a_summary_is_valid_only_while_its_sources_are_unchanged(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How files were read is in its numbers as much as what was made of them."""
    before, read_bytes = summary._methods.__wrapped__(), Path.read_bytes
    reads = [0]

    def changed(at: Path) -> bytes:
        reads[0] += at.name == name
        return read_bytes(at) + (b"# changed" if at.name == name else b"")

    monkeypatch.setattr(Path, "read_bytes", changed)
    assert summary._methods.__wrapped__() != before
    assert reads[0] == 1
