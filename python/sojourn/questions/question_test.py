"""A question is a folder, and a line in the table."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn
from sojourn import analysis, report, spec
from sojourn.analysis import Measured, StudyData
from sojourn.analysis.answer_kind import Answer
from sojourn.plan import Phase, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play
from sojourn.questions import KINDS, PLANS, Kind, answers, parts
from sojourn.report.section import Shown

PACKAGE = Path(sojourn.__file__).parent

KIND = '''
"""What half of the load is like."""
from sojourn.questions.dummy import plan
from sojourn.questions.kind import Kind as Base


class Dummy(Base):
    plan = plan.KIND

    def judge(self):
        from sojourn.questions.dummy import judge
        return judge.KIND

    def section(self):
        from sojourn.questions.dummy import section
        return section.KIND


KIND = Dummy()
'''

PLAN = """
from sojourn.plan import make
from sojourn.plan.points import Cell, Phase
from sojourn.plan.question import PhaseKind, Question
from sojourn.plan.setting import LOAD, Setting

PHASE = Phase("half")


class Dummy(Question):
    name = "dummy"
    about = "what half of the load is like"
    phases = (PhaseKind(name=PHASE, about="half of the load"),)

    def next_point(self, study, service, known, outcomes):
        done = make.Tried(outcomes, PHASE)
        for repeat in range(2):
            setting = Setting.of({LOAD: 0.5})
            if make.is_open(done.at(repeat, setting), study.run.retries):
                cell = Cell(service.label, PHASE, repeat, setting)
                return make.point(study, cell, measure_s=0.2, offered_rps=0.5 * known.axis.rps,
                                  fraction=0.5)
        return None


KIND = Dummy()
"""

ANALYSIS = """
from dataclasses import dataclass

from sojourn.analysis.answer_kind import Answer
from sojourn.findings.section import Section
from sojourn.plan.points import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Half(Section):
    rates: tuple[float, ...]


class DummyAnswer(Answer):
    name = "dummy"
    section = Half

    def answer(self, given, spec, stands, found):
        outcomes = [m.outcome for m in given.of(spec.label) if m.outcome.point.phase == "half"]
        text = f"Half of the load was measured {len(outcomes)} times."
        return Half(headline=text, answer=text, verdict=Verdict.HOLDS,
                    rates=tuple(o.achieved_rps for o in outcomes))


KIND = DummyAnswer()
"""

REPORT = """
from sojourn.report.draw.table import Table
from sojourn.report.section import Number, Shown


class DummyShown(Shown):
    name = "dummy"

    def number(self, service):
        return Number(number="half", said="of the load") if "dummy" in service.sections else None

    def data(self, service):
        found = service.sections.get("dummy")
        rows = tuple((n, rate) for n, rate in enumerate(found.rates)) if found else ()
        return Table(columns=("try", "achieved_rps"), rows=rows) if rows else None


KIND = DummyShown()
"""

STUDY = """
schema = "sojourn.study/1"
name = "halves"
question = "What is half of the load like?"
[run]
warmup_s = 0.1
peak_s = 0.2
peak_repeats = 1
[[services]]
kind = "memcached"
measure = ["dummy"]
"""

# In a process of its own: it imports the copy. Points are measured by `testing.Lab` in no time.
GO = """
import sys
from pathlib import Path
import pytest
from sojourn.cli.app import main
from sojourn.testing import installed
with pytest.MonkeyPatch.context() as patch:
    lab = installed(patch, Path("locks"), pages=True)
    code = main(["run", "halves.toml", "-p", "quick", "--results", "results", "--json"])
print([str(p.phase) for p in lab.points], int(code), file=sys.stderr)
"""


def test_the_table_lists_the_folders() -> None:
    folders = {path.parent.name for path in Path(__file__).parent.glob("*/__init__.py")}
    assert set(KINDS) == folders
    assert "null" in folders


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_part_is_one_of_its_kind_and_says_whose_it_is(kind: Kind) -> None:
    judge, section = kind.judge(), kind.section()
    assert isinstance(judge, Answer)
    assert isinstance(section, Shown)
    assert (judge.name, section.name) == (kind.name, kind.name)
    assert all(phase.keeps in {"", kind.name} for phase in kind.plan.phases)
    keeps = any(phase.keeps for phase in kind.plan.phases)
    assert (kind.reader() is not None) == keeps


def test_the_first_that_speaks_is_the_search_and_the_first_that_asks_the_sweep() -> None:
    assert next(iter(PLANS)) == "sweep"
    assert next(iter(answers())) == "max_load"
    assert [one.name for one in parts().sections[:3]] == ["max_load", "colocation", "sweep"]


@pytest.mark.parametrize("kind", answers().values(), ids=answers())
def test_a_question_states_every_method_of_its_folder(kind: Answer) -> None:
    texts = [path.read_text() for path in (Path(__file__).parent / kind.name).glob("*.py")]
    stated = sum("\nMETHOD = Method(" in text for text in texts)
    assert len({method.name for method in kind.methods}) == stated


def test_where_nothing_is_asked_the_load_axis_is_the_answer() -> None:
    sets = ['services.memcached.measure=["null"]', "run.peak_repeats=2"]
    of = spec.load("max_load_memcached", profile="quick", overrides=sets, asks=PLANS.mistakes)
    played = play(of, imagine, PLANS)
    assert {outcome.point.phase for outcome in played} == {Phase.PEAK}
    measured = tuple(Measured(outcome=outcome) for outcome in played)
    result = analysis.study(StudyData(study=of, measured=measured, questions=PLANS), answers())
    assert result.answer == "memcached: 100 % load is 100k requests/s (achieved peak)."
    assert result.verdict is Verdict.HOLDS
    assert report.text(result, parts()).startswith(
        "memcached 100k requests/s (100 % load, by achieved peak)"
    )
    started = analysis.study(StudyData(study=of, measured=measured[:1], questions=PLANS), answers())
    assert started.verdict is Verdict.UNKNOWN


def test_a_new_one_is_a_folder_and_a_line_in_the_table(tmp_path: Path) -> None:
    copy = tmp_path / "sojourn"
    shutil.copytree(
        PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "golden", "*_test.py")
    )
    room = copy / "questions" / "dummy"
    room.mkdir()
    texts = (("__init__", KIND), ("plan", PLAN), ("judge", ANALYSIS), ("section", REPORT))
    for stem, text in texts:
        (room / f"{stem}.py").write_text(text)
    table = copy / "questions" / "__init__.py"
    lines = table.read_text().replace("    colocation,\n", "    colocation,\n    dummy,\n")
    table.write_text(lines.replace("    null.KIND,\n", "    dummy.KIND,\n    null.KIND,\n"))
    (tmp_path / "halves.toml").write_text(STUDY)
    (tmp_path / "locks").mkdir()
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", GO],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1:] == ["['peak', 'half', 'half'] 0"], done.stderr
    result = json.loads(done.stdout)
    service = result["services"][0]
    assert result["answer"] == service["answer"] == "Half of the load was measured 2 times."
    assert (result["verdict"], service["dummy"]["rates"]) == ("holds", [10_000.0, 10_000.0])
    text = (Path(result["record"]) / "report.txt").read_text()
    assert text.startswith("memcached half (of the load)")
    assert "0    10.0k" in text
    page = (Path(result["record"]) / "report.html").read_text()
    assert '<p class="number">half</p>' in page
    assert "<td>10.0k</td>" in page
