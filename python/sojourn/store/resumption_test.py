"""Which record is resumed, what is reported if none is, and which versions measured it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn import __version__, spec, store
from sojourn.plan import next_point
from sojourn.plan.rehearsal import imagine
from sojourn.spec import Study
from sojourn.store import record as of_record
from sojourn.store import resumption
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS

HAD = {"topology": {"model": "x", "allowed": [0, 1]}, "cgroup": {"cpu_quota": None}}


@pytest.fixture
def study() -> Study:
    return spec.load("max_load_memcached", profile="quick")


def opened(results: Path, study: Study, environment: dict[str, Any]) -> OpenRecord:
    return store.open(results, study, machine="a", manifest={"environment": environment})


def measure(record: OpenRecord, study: Study, points: int) -> None:
    for _ in range(points):
        point = next_point(study, record.outcomes(), PLANS)
        assert point is not None
        record.add(replace(imagine(point), folder=str(record.folder(point))))


@pytest.mark.parametrize(
    ("now", "texts"),
    [
        (
            {**HAD, "topology": {"model": "x", "allowed": [0, 1, 2, 3]}},
            ("CPUs 0-1 (here 0-3)", "with `taskset -c 0-1` before it"),
        ),
        (
            {**HAD, "cgroup": {"cpu_quota": 1.5}},
            ("CPU quota none (here 1.5)", "where all is as it was"),
        ),
        (
            {"topology": {"model": "y\x1b[2J", "allowed": [0]}},
            ("processor x (here y\\x1b[2J), CPUs 0-1 (here 0)", "where all is as it was"),
        ),
    ],
)
def test_a_record_that_is_begun_because_the_machine_differs_says_so(
    study: Study, tmp_path: Path, now: dict[str, Any], texts: tuple[str, ...]
) -> None:
    with opened(tmp_path, study, HAD) as first:
        measure(first, study, 1)
        assert first.notes == ()
    with opened(tmp_path, study, now) as other:
        (note,) = other.notes
    assert note.startswith(f"a new record begins: the unfinished {first.path.name} has ")
    assert "\n" not in note
    for text in texts:
        assert text in note
    with opened(tmp_path, study, HAD) as again:
        assert (again.path, again.notes) == (first.path, ())


def test_nothing_is_reported_where_nothing_could_be_resumed(study: Study, tmp_path: Path) -> None:
    with opened(tmp_path, study, HAD) as first:
        first.finish()
    other = {**HAD, "cgroup": {"cpu_quota": 1.5}}
    with opened(tmp_path, study, other) as second:
        assert second.notes == ()
    manifest = {"environment": other}
    with store.open(tmp_path, study, machine="a", manifest=manifest, resume=False) as third:
        assert third.notes == ()


def test_points_of_two_versions_in_one_record_are_counted_and_reported(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, study, HAD) as first:
        measure(first, study, 2)
    for module in (resumption, of_record):
        monkeypatch.setattr(module, "__version__", "9.9.9")
    with opened(tmp_path, study, HAD) as second:
        assert second.path == first.path
        (note,) = second.notes
        assert f"2 by {__version__}; this is 9.9.9; --new" in note
        measure(second, study, 1)
    assert store.read(first.path).versions(3) == {__version__: 2, "9.9.9": 1}
    (file,) = first.path.glob("resumed-*.json")
    table = json.loads(file.read_text())
    assert (table["sojourn"], table["points"]) == ("9.9.9", 2)


def test_one_version_that_resumes_is_no_news(study: Study, tmp_path: Path) -> None:
    with opened(tmp_path, study, HAD) as first:
        measure(first, study, 2)
    with opened(tmp_path, study, HAD) as second:
        assert second.notes == ()
        measure(second, study, 1)
    assert store.read(first.path).versions(3) == {__version__: 3}


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"sojourn": 3, "points": 1}', '{"sojourn": "9", "points": -1}', "null"],
)
def test_what_a_damaged_file_says_of_versions_is_left_out(tmp_path: Path, content: str) -> None:
    (tmp_path / "resumed-1.json").write_text(content)
    assert resumption.versions(tmp_path, {"sojourn": "1"}, 4) == {"1": 4}
    assert resumption.versions(tmp_path, {}, 4) == {}


def test_a_version_that_measured_nothing_is_left_out_and_points_that_left_are_not_counted(
    tmp_path: Path,
) -> None:
    for number, (version, points) in enumerate((("2", 3), ("3", 3), ("1", 9))):
        table = {"sojourn": version, "points": points}
        (tmp_path / f"resumed-{number}.json").write_text(json.dumps(table))
    assert resumption.versions(tmp_path, {"sojourn": "1"}, 10) == {"1": 4, "3": 6}
    assert resumption.versions(tmp_path, {"sojourn": "1"}, 2) == {"1": 2}


def changed(study: Study, *sets: str) -> Study:
    return spec.load("max_load_memcached", profile=study.run.profile, overrides=sets)


def test_a_record_that_is_begun_because_the_study_changed_names_the_keys(
    study: Study, tmp_path: Path
) -> None:
    with opened(tmp_path, study, HAD) as first:
        measure(first, study, 1)
    other = changed(study, "run.retries=1", "services.memcached.qos.bound=2ms")
    with opened(tmp_path, other, HAD) as second:
        (note,) = second.notes
    assert second.path != first.path
    assert (
        f"the unfinished {first.path.name} has another run.retries, services[0].qos.bound" in note
    )


@pytest.mark.parametrize("sets", [("run.profile=standard",), ()])
def test_another_profile_or_a_finished_record_is_not_named(
    study: Study, tmp_path: Path, sets: tuple[str, ...]
) -> None:
    with opened(tmp_path, study, HAD) as first:
        if not sets:
            first.finish()
    other = spec.load("max_load_memcached", overrides=sets or ("run.profile=quick", "seed=2"))
    with opened(tmp_path, other, HAD) as second:
        assert second.notes == ()


def test_an_older_record_of_another_study_hides_none_of_this(study: Study, tmp_path: Path) -> None:
    with opened(tmp_path, study, HAD) as first:
        measure(first, study, 1)
    with opened(tmp_path, changed(study, "seed=2"), HAD):
        pass
    with opened(tmp_path, study, HAD) as again:
        assert (again.path, again.notes) == (first.path, ())
