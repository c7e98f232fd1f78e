"""Combinations that cannot be had here, or under which the service dies; others are measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import host, pipeline, run, spec, store
from sojourn.cli.app import main
from sojourn.errors import AbsentFault, Exit, HostFault, RunFault, SpecFault
from sojourn.host import Facts
from sojourn.plan import Phase, Point, left_out
from sojourn.plan.left_out import SKIPPED, LeftOut
from sojourn.plan.setting import Setting
from sojourn.questions import catalogue
from sojourn.run import placed
from sojourn.spec import Study
from sojourn.testing import Lab, installed

KEY = "services.memcached.params.threads"
ARGUMENTS = [
    "max_load_memcached",
    "-p",
    "quick",
    "--vary",
    f"{KEY}=1,2,3",
    *(
        part
        for text in (
            'services.memcached.measure=["sweep"]',
            "aa=false",
            "run.measure_s=0.2",
            "run.repeats=1",
            "run.fractions=[0.2,0.5]",
            "run.peak_s=0.2",
            "run.peak_repeats=1",
        )
        for part in ("--set", text)
    ),
]


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return installed(monkeypatch, tmp_path_factory.mktemp("locks"))


def sojourn(*arguments: str, results: Path) -> int:
    return main([*arguments, "--results", str(results)])


def record(results: Path) -> store.Record:
    return store.read(store.resolve(results, None))


def lacking(*threads: int) -> tuple[LeftOut, ...]:
    return tuple(
        LeftOut(
            state=SKIPPED,
            service="memcached",
            levels=Setting.of({KEY: n}),
            reason=f"no {n} CPUs",
            fix="take a larger machine",
        )
        for n in threads
    )


def measured(lab: Lab) -> set[object]:
    return {point.setting[KEY] for point in lab.points}


def test_what_is_skipped_is_named_everywhere_and_measured_once_it_can_be(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "check", lambda *_: lacking(1, 3))
    sojourn("run", *ARGUMENTS, results=tmp_path)
    output = capsys.readouterr()
    assert measured(lab) == {2}
    text = "skipped: memcached, threads = 3: no 3 CPUs; take a larger machine"
    assert text in " ".join(output.err.split())
    assert text.replace("threads = 3", "3 threads") in " ".join(output.out.split())
    findings = pipeline.findings_of(record(tmp_path).path)
    assert [one.text for one in findings.left_out][1] == text
    assert "Skipped: memcached, threads = 1, memcached, threads = 3." in findings.answer
    assert [service.service for service in findings.services] == ["memcached, threads = 2"]
    query = "select state, service, levels, reason from left_out order by reason"
    assert sojourn("sql", query, "--json", results=tmp_path) == Exit.OK
    rows = json.loads(capsys.readouterr().out)
    assert [(row["state"], row["reason"]) for row in rows] == [
        ("skipped", "no 1 CPUs"),
        ("skipped", "no 3 CPUs"),
    ]

    before = len(lab.points)
    monkeypatch.setattr(run, "check", lambda *_: lacking(3))
    sojourn("run", *ARGUMENTS, results=tmp_path)
    assert {point.setting[KEY] for point in lab.points[before:]} == {1}, "the same record goes on"
    assert len(list(store.records(tmp_path))) == 1
    assert len(record(tmp_path).outcomes()) == len(lab.points)
    sojourn("run", *ARGUMENTS, results=tmp_path)
    assert len(list(store.records(tmp_path))) == 2, "nothing more can be had: a run of its own"


def test_a_combination_under_which_the_service_dies_is_given_up_and_the_others_are_measured(
    lab: Lab, tmp_path: Path
) -> None:
    def die(point: Point, _number: int) -> None:
        if point.setting[KEY] == 3:
            raise RunFault("out of memory", at="pid 7", fix="give it more")

    lab.trouble = die
    arguments = [*ARGUMENTS, "--set", "run.retries=9"]
    sojourn("run", *arguments, results=tmp_path)
    assert sum(point.setting[KEY] == 3 for point in lab.points) in {3, 4}  # 4: it came first
    assert {p.setting[KEY] for p in lab.points if p.phase is Phase.SWEEP} == {1, 2}
    stored = record(tmp_path)
    assert stored.is_complete
    findings = pipeline.findings_of(stored.path)
    assert [(o.state, o.who) for o in findings.left_out] == [("given up", "memcached, threads = 3")]
    assert findings.left_out[0].reason.startswith("out of memory (pid 7), ")
    assert len(findings.services) == 2, "its verdict is not that of the others"
    assert [one.state for one in store.left_out_of(stored.path)] == ["given up"]


def test_one_that_worked_before_is_given_up_too_and_a_resumed_study_tries_it_no_more(
    lab: Lab, tmp_path: Path
) -> None:
    def die(point: Point, _number: int) -> None:
        if point.setting[KEY] == 3 and point.phase is Phase.SWEEP:
            raise RunFault("killed", at="pid 7", fix="")

    lab.trouble = die
    arguments = [*ARGUMENTS, "--set", "run.retries=9"]
    sojourn("run", *arguments, results=tmp_path)
    tried = sum(p.setting[KEY] == 3 and p.phase is Phase.SWEEP for p in lab.points)
    assert tried == 3
    (record(tmp_path).path / "complete.json").unlink()
    before = len(lab.points)
    sojourn("run", *arguments, results=tmp_path)
    assert len(lab.points) == before


def test_where_every_combination_fails_the_study_ends_with_the_fault_and_gives_none_up(
    lab: Lab, tmp_path: Path
) -> None:
    def die(_point: Point, _number: int) -> None:
        raise RunFault("no generator", at="", fix="make build")

    lab.trouble = die
    arguments = [*ARGUMENTS, "--set", "run.retries=9"]
    assert sojourn("run", *arguments, results=tmp_path) == Exit.FAILED
    assert not record(tmp_path).is_complete
    assert not pipeline.findings_of(record(tmp_path).path).left_out
    lab.trouble = lambda _point, _number: None
    before = len(lab.points)
    sojourn("run", *arguments, results=tmp_path)
    assert {point.setting[KEY] for point in lab.points[before:]} == {1, 2, 3}


def varied() -> Study:
    return spec.load("max_load_memcached", profile="quick", varied=[f"{KEY}=1,2,3"])


@pytest.fixture
def facts(fake_host: Callable[[str], Path]) -> Facts:
    return host.read(fake_host("big_server"), sample_s=0)


Judge = Callable[[int], None]


def judged(monkeypatch: pytest.MonkeyPatch, judge: Judge) -> None:
    def check(alone: Study, _facts: Facts, _whole: Study, **_: object) -> None:
        threads = alone.services[0].params.get("threads")
        judge(threads if isinstance(threads, int) else 0)

    monkeypatch.setattr(sys.modules["sojourn.run.preview"], "_check", check)


def test_a_study_of_levels_that_are_not_here_keeps_the_others_or_ends_with_3(
    facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(threads: int) -> None:
        if threads == 3:
            raise HostFault("too many", at="", fix="take fewer")
        if threads == 2:
            raise AbsentFault("no such CPU", at="", fix="")

    judged(monkeypatch, judge)
    skipped = run.check(varied(), facts, catalogue())
    assert [(dict(one.levels)[KEY], one.reason) for one in skipped] == [
        (2, "no such CPU"),
        (3, "too many"),
    ]
    here = left_out.without(varied(), skipped)
    assert here.combinations("memcached") == ({KEY: 1},)
    assert spec.to_toml(here) == spec.to_toml(varied()), "the file is the same question"

    def none(_threads: int) -> None:
        raise HostFault("no memcached", at="", fix="apt install memcached")

    judged(monkeypatch, none)
    with pytest.raises(HostFault, match="all 3 combinations are skipped: no memcached") as raised:
        run.check(varied(), facts, catalogue())
    assert raised.value.exit == Exit.UNKNOWN
    plain = spec.load("max_load_memcached", profile="quick")
    with pytest.raises(HostFault) as raised:
        run.check(plain, facts, catalogue())
    assert raised.value.exit == Exit.USAGE, "nothing is varied: refused as it stands"


def test_a_wrong_level_refuses_the_whole_study(
    facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(threads: int) -> None:
        if threads == 2:
            raise SpecFault("threads is wrong", at="services.memcached", fix="")

    judged(monkeypatch, judge)
    with pytest.raises(SpecFault, match="threads is wrong"):
        run.check(varied(), facts, catalogue())


def test_a_cpu_that_is_not_there_is_distinguished_from_a_level_that_makes_no_sense(
    facts: Facts,
) -> None:
    def levels(text: str) -> None:
        sets = [f'services.memcached.knobs.cpuset="{text}"']
        study = spec.load("max_load_memcached", overrides=sets)
        placed.check_levels(study.service("memcached"), facts)

    with pytest.raises(AbsentFault, match="cannot be used here"):
        levels("4000")
    with pytest.raises(SpecFault) as raised:
        levels("3-1")
    assert not isinstance(raised.value, AbsentFault)


def test_the_fix_is_read_from_files_of_earlier_versions_too() -> None:
    one = LeftOut(state=SKIPPED, service="a", levels=Setting(), reason="no CPU 9", fix="add one")
    assert LeftOut.of(one.table) == one
    older = {left_out.OLD_FIX if key == "fix" else key: value for key, value in one.table.items()}
    assert LeftOut.of(older) == one
