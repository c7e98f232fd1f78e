"""Each question can be taken away: its folder and its lines, and nothing that is left misses it."""

from __future__ import annotations

import compileall
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.questions import KINDS
from sojourn.spec import RunSpec, ServiceSpec, Study

HERE = Path(__file__).parent
away = SimpleNamespace(**runpy.run_path(str(HERE / "removal" / "away.py")))
NAMES: tuple[str, ...] = away.names()
#: Where the core speaks of a question by its name, and why it may.
MAY: Mapping[str, tuple[str, ...]] = {
    "spec/service.py": ("sweep", "max_load"),  # what is asked of a service that does not say
    "spec/own.py": ("sweep", "max_load"),  # what `sojourn try` and `init` ask
    "spec/rates.py": ("sweep",),  # how a fault says what to write
    "plan/joint.py": ("sweep",),
    "plan/points.py": ("sweep", "check", "beside"),  # phases of all records; a point's other points
    "plan/traced.py": ("breakdown", "check"),  # two questions and the runner share what is traced
    "plan/codec.py": ("beside",),  # a point's other points
    "plan/questions.py": ("beside",),
    "run/clients.py": ("beside", "together"),  # a probe beside a load; several generators
    "hosts/fleet.py": ("check", "together"),  # functions of clients, on one host or on several
    "knobs/cpu_weight.py": ("beside",),  # a group beside another
    "stats/quantile_regression.py": ("attribution",),  # the method's own name
    "report/openings/interference.py": ("beside",),  # the English word
    "report/figures/effects.py": ("beside",),
    "report/factors.py": ("beside",),
    "schema/documents.py": ("colocation",),  # the table that models read
    "models/colocation.py": ("colocation",),
    "cli/tables.py": ("colocation",),
    "actors": ("check", "null"),  # functions, and kinds of nothing
    "cli": ("check",),
    "cli/verbs.py": ("compare",),
    "cli/compare_records.py": ("compare",),
    "cli/fleet_cmd.py": ("compare",),
    "analysis/service.py": ("compare",),  # a function
    "controllers/__init__.py": ("null",),
    "controllers/null.py": ("null",),  # the rule that does nothing
    "controllers/rule.py": ("check",),
    "manage": ("check",),
    "pipeline.py": ("check",),
    "run": ("check",),
    "knobs": ("check", "null"),
    "places": ("check", "null"),
    "services": ("check", "null"),
    "spec/sides.py": ("compare", "null", "sweep"),  # the studies that commands write
    "cli/compare_cmd.py": ("compare",),  # the command of that name: records need no question
    "foresight/study.py": ("sweep",),  # the study that a command writes
    "foresight/words.py": ("beside",),  # the English word
    "models": ("null",),
    "report/figures/null.py": ("null",),
}


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A program in a copy, which comes before the installed package."""
    env = {**os.environ, "PYTHONPATH": str(folder / "python"), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=600
    )


def beside_python(name: str) -> str:
    """A tool that is installed with the interpreter."""
    return str(Path(sys.executable).with_name(name))


def looked_at(*folders: Path) -> dict[str, tuple[str, list[str]]]:
    """What is wrong with each copy ("" if nothing is) and its studies' keys, by its name."""
    done = run(folders[0], sys.executable, str(HERE / "removal" / "smoke.py"), *map(str, folders))
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, done.stdout.splitlines())
    return {Path(folder).name: (wrong, keys) for folder, wrong, keys in lines}


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A copy without each question, and those that build on it.

    All are linked to one that is compiled, and has known imports: times of files do not change,
    so that only what differs is compiled and read again.
    """
    root = tmp_path_factory.mktemp("without")
    away.copy(root / "whole")
    compileall.compile_dir(root / "whole" / "python", quiet=2)
    done = run(root / "whole", beside_python("lint-imports"))
    assert done.returncode == 0, done.stdout
    paths = {}
    for name in NAMES:
        paths[name] = root / name
        shutil.copytree(root / "whole", paths[name], copy_function=away.link)
        away.take(paths[name], away.with_dependants(name))
    return paths


@pytest.fixture(scope="module")
def seen(copies: Mapping[str, Path]) -> Mapping[str, tuple[str, list[str]]]:
    """What went wrong where every module of a copy was loaded and its studies were planned."""
    return looked_at(*copies.values())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_left_loads_plans_finds_and_reports(
    name: str, seen: Mapping[str, tuple[str, list[str]]]
) -> None:
    assert seen[name][0] == ""


def test_its_keys_leave_the_study_file(seen: Mapping[str, tuple[str, list[str]]]) -> None:
    whole = {key for _, keys in seen.values() for key in keys}
    checked = []
    for name, kind in KINDS.items():
        asks = kind.asks
        pairs = ((asks.study, Study), (asks.service, ServiceSpec), (asks.run, RunSpec))
        own = {k for model, core in pairs if model for k in model.model_fields} - {
            k for _, core in pairs for k in core.model_fields
        }
        assert own <= whole
        assert own.isdisjoint(seen[name][1]), name
        checked += own
    assert {"blame", "check", "together", "qos_matrix", "restarts"} <= {*checked}


@pytest.mark.skipif(
    "SOJOURN_REMOVAL_TESTS" not in os.environ, reason="minutes long: set SOJOURN_REMOVAL_TESTS"
)
@pytest.mark.parametrize("name", away.turn(os.environ.get("SOJOURN_REMOVAL_TESTS", "")))
def test_the_tests_that_are_left_pass(name: str, tmp_path: Path) -> None:
    """SOJOURN_REMOVAL_TESTS=1: one question and one package of tests a commit; all: all of them.

    Tests that name the question, or a study that asks it, go with it.
    """
    away.copy(tmp_path, with_tests=True)
    gone = away.with_dependants(name)
    studies = away.take(tmp_path, gone)
    left = away.tests_without(tmp_path, {*gone, *studies}, os.environ.get("SOJOURN_REMOVAL_TESTS"))
    assert left, "no test is left"
    temp = f"--basetemp={tmp_path / 'of_tests'}"
    done = run(
        tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", temp, *left
    )
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_left_is_linted(name: str, copies: Mapping[str, Path]) -> None:
    folder = copies[name]
    changed = "python/sojourn/questions"  # what `take` writes to; ruff looks at each file alone
    for words in (("ruff", "check", "--no-cache", changed), ("lint-imports",)):
        done = run(folder, beside_python(words[0]), *words[1:])
        assert done.returncode == 0, f"{words[0]}: {done.stdout}{done.stderr}"


def test_no_word_of_a_question_is_left_where_none_may_be() -> None:
    package: Path = away.PACKAGE
    folders = tuple(f"sojourn.questions.{name}" for name in NAMES)
    spoken, used = [], set()
    for path in sorted(package.rglob("*.py")):
        at = path.relative_to(package).as_posix()
        is_test = path.stem.endswith(("_test", "_testing")) or path.stem.startswith("testing")
        if is_test or at.startswith("questions/"):
            continue
        text = away.words(path.read_text())
        for name in text & set(NAMES):
            may = {where for where, names in MAY.items() if at.startswith(where) and name in names}
            used |= {(where, name) for where in may}
            spoken += [] if may else [f"{at}: '{name}'"]
        spoken += [f"{at}: {one}" for one in text if one.startswith(folders)]
    assert spoken == []
    listed = {(where, name) for where, names in MAY.items() for name in names}
    assert listed - used == set(), "listed, and not there any more"


def test_the_scan_sees_attributes_texts_and_imports() -> None:
    for line in (
        "asked = service.blame",
        'key = "blame"',
        "key = f'services.{label}.blame.window'",
        "fix = 'write measure = [\"blame\"]'",
        "from sojourn.questions import blame",
        "import sojourn.questions.blame",
    ):
        assert {one.rpartition(".")[2] for one in away.words(line)} >= {"blame"}, line
    assert "blame" not in away.words('"""Who is to blame: `blame`."""')


def test_who_builds_on_a_question_is_named_and_goes_with_it() -> None:
    assert away.with_dependants("blame") == {"blame"}
    assert away.with_dependants("sweep") == {"sweep", "colocation"}
    assert away.with_dependants("together") == {"together", "qos_matrix", "scheduler_bakeoff"}


def test_a_core_that_knows_a_question_is_seen(tmp_path: Path) -> None:
    """Each of the checks is able to fail."""
    away.copy(tmp_path)
    away.take(tmp_path, ["blame"])
    core = tmp_path / "python" / "sojourn" / "analysis" / "trend.py"
    planted = "from sojourn.questions.blame import plan\n"
    core.write_text(core.read_text().replace("from sojourn.", f"{planted}from sojourn.", 1))
    wrong, _ = looked_at(tmp_path)[tmp_path.name]
    assert "No module named 'sojourn.questions.blame'" in wrong
    done = run(tmp_path, beside_python("ruff"), "check", "--no-cache", "python")
    assert "F401" in done.stdout
    assert "sojourn.questions.blame" in away.words(core.read_text())
    other = core.with_name("factors.py")
    planted = planted.replace("blame", "sweep")
    other.write_text(other.read_text().replace("from sojourn.", f"{planted}from sojourn.", 1))
    done = run(tmp_path, beside_python("lint-imports"), "--no-cache")
    assert "sojourn.analysis.factors -> sojourn.questions.sweep" in done.stdout


@pytest.mark.skipif(
    "SOJOURN_REMOVAL_TYPES" not in os.environ, reason="minutes: SOJOURN_REMOVAL_TYPES=blame,sweep"
)
def test_what_is_left_has_right_types(copies: Mapping[str, Path]) -> None:
    for name in os.environ["SOJOURN_REMOVAL_TYPES"].split(","):
        done = run(copies[name], beside_python("mypy"))
        assert done.returncode == 0, done.stdout
