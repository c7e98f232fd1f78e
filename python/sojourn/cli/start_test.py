"""What a start does not load: help and completion answer at the speed of a key press."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import __version__, built, spec, store
from sojourn.cli import options
from sojourn.cli.testing_start import DRAWS, HEAVY, PACKAGE, STORES, TESTS, started
from sojourn.spec import studies
from sojourn.store import golden_testing


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden_testing.unpack(tmp_path_factory.mktemp("results"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("run", "--help"),
        ("plan", "--help"),
        ("tco", "--help"),
        ("replicate", "--help"),
        ("calibrate", "--help"),
        ("kinds", "--help"),
        ("ls", "--help"),
        ("view", "--help"),
        ("mcp", "--help"),
    ],
    ids=" ".join,
)
def test_help_loads_nothing_that_computes(arguments: tuple[str, ...]) -> None:
    code, out, modules = started(*arguments)
    assert (code, "sojourn" in out) == (0, True)
    assert modules.isdisjoint(HEAVY)
    assert modules.isdisjoint({"starlette", "uvicorn", "mcp", "asyncio", "sojourn.browse.index"})


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("sojourn ru", "run"),
        ("sojourn run max", "max_load_memcached"),
        ("sojourn plan self", "selfcheck"),
        ("sojourn run selfcheck -p st", "standard"),
    ],
)
def test_completion_names_what_there_is_and_loads_nothing_that_computes(
    words: str, wanted: str
) -> None:
    # Typer itself takes pydantic where it finds it.
    code, out, modules = started(
        _SOJOURN_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
    )
    assert (code, out.split()) == (0, [wanted])
    assert modules.isdisjoint({*HEAVY, "rich"})


def test_version_needs_neither_specs_nor_drawing() -> None:
    _, _, modules = started("--version")
    assert modules.isdisjoint({"pydantic", "rich"})


def test_a_list_without_records_needs_no_models_of_studies_and_no_numerics(tmp_path: Path) -> None:
    code, out, modules = started("ls", "--results", str(tmp_path))
    assert (code, spec.load("qos_matrix").question.split()[0] in out) == (0, True)
    assert modules.isdisjoint({*HEAVY, "sojourn.spec.models", "sojourn.questions"})


def test_a_study_is_listed_with_the_question_that_its_model_has() -> None:
    assert studies.asked() == {name: spec.load(name).question for name in spec.names()}


START = """
import json, sys
from sojourn.__main__ import start
code = start()
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def test_the_version_is_reported_before_any_command_is_loaded() -> None:
    package = Path(spec.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", START, "--version"],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert (code, done.stdout) == (0, f"{built.line()}\n")
    assert done.stdout.startswith(f"sojourn {__version__} (")
    assert {name for name in modules if name.startswith("sojourn")} == {
        "sojourn",
        "sojourn.__main__",
        "sojourn.built",
        "sojourn.errors",
        "sojourn.extras",
        "sojourn.system",
    }
    assert set(modules).isdisjoint({"typer", "inspect", "subprocess", "shutil"})


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one CPU it starts none")
@pytest.mark.parametrize(("asked", "threads"), [(None, 1), ("2", 2)])
def test_what_computes_starts_no_threads_unless_somebody_asks_for_them(
    asked: str | None, threads: int
) -> None:
    """OpenBLAS sends SIGINT to its own process where it cannot start one."""
    name = "OPENBLAS_NUM_THREADS"
    env = {key: value for key, value in os.environ.items() if key != name}
    code = """
import os, sys
from sojourn.__main__ import start
assert start() == 0
import numpy, scipy.linalg
print(len(os.listdir("/proc/self/task")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        env={**env, "PYTHONPATH": str(PACKAGE), **({name: asked} if asked else {})},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout.split()[-1]) in {threads, 2 * threads - 1}, (
        "numpy and scipy bring one each"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_version_that_cannot_be_written_is_a_failure_that_is_reported() -> None:
    package = Path(spec.__file__).parents[2]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(package)},
            text=True,
            check=False,
        )
    assert (done.returncode, "no space left" in done.stderr) == (4, True), done.stderr


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (("plan", "selfcheck"), DRAWS | TESTS | {"duckdb"}),
        (("check", "selfcheck"), DRAWS | TESTS | STORES),
        (("doctor", "--watch-s", "0.1"), DRAWS | TESTS | STORES),
        (("ls",), DRAWS | TESTS | STORES),
        (("tco",), DRAWS | TESTS | STORES | {"sojourn.spec", "sojourn.questions", "numpy"}),
        (("provision",), DRAWS | TESTS | STORES | {"sojourn.spec", "sojourn.questions", "numpy"}),
        (("sql", "select count(*) from outcomes"), DRAWS | TESTS | {"sojourn.analysis"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_loads_only_what_it_uses(
    arguments: tuple[str, ...], without: set[str], results: Path
) -> None:
    more = ("--results", str(results)) if arguments[0] in {"plan", "ls", "sql"} else ()
    code, _, modules = started(*arguments, *more)
    assert code == 0
    assert modules.isdisjoint(without)


def test_what_there_is_to_name_is_gathered_once(tmp_path: Path) -> None:
    cache = str(tmp_path)
    gathered, first, _ = started("kinds", XDG_CACHE_HOME=cache)
    again, second, modules = started("kinds", XDG_CACHE_HOME=cache)
    assert (gathered, again, first) == (0, 0, second)
    assert "memcached" in first
    assert modules.isdisjoint(
        {*DRAWS, *TESTS, *STORES, "numpy", "sojourn.spec", "sojourn.questions"}
    )


def test_an_answer_that_was_computed_loads_nothing_that_computes(
    results: Path, tmp_path: Path
) -> None:
    """Here a text is kept as `show` keeps it; `answered_test` has that it is the right one."""
    (record,) = store.records(results)
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    keep = "import sys; from pathlib import Path; from sojourn.store.answers import Texts; "
    keep += "Texts(Path(sys.argv[1])).keep('text 80 False', 'the answer')"
    package = str(Path(spec.__file__).parents[2])
    subprocess.run(
        [sys.executable, "-c", keep, str(record)],
        env={**os.environ, "PYTHONPATH": package, **own},
        check=True,
    )
    code, out, modules = started("show", str(record), COLUMNS="80", **own)
    assert (code, out) == (0, "the answer\n")
    assert modules.isdisjoint(
        {*DRAWS, *TESTS, *STORES, "sojourn.spec", "sojourn.questions", "sojourn.analysis"}
    )


def test_completion_knows_the_same_names_as_the_lab() -> None:
    assert options._studies("") == sorted(spec.names())
    assert tuple(spec.PROFILES) == options.PROFILES


LATE = """
import sys
late = sys.argv[1]
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == late:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
from sojourn.__main__ import start
sys.argv[1:] = ["plan", "selfcheck"]
sys.exit(start())
"""


@pytest.mark.parametrize("module", ["sojourn.cli.app", "sojourn.spec", "sojourn.plan"])
def test_stopped_while_it_still_loads_it_says_so_and_no_verdict(module: str) -> None:
    package = Path(spec.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", LATE, module],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        ("MemoryError()", "not enough memory"),
        ("OSError(24, 'Too many open files')", "Too many open files"),
        ("ImportError('libx.so: failed to map segment')", "failed to map segment"),
    ],
)
@pytest.mark.parametrize("module", ["sojourn.cli.app", "sojourn.cli.faults"])
def test_what_cannot_be_loaded_is_reported_without_a_traceback(
    module: str, error: str, why: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LATE.replace("KeyboardInterrupt", error), module],
        env={**os.environ, "PYTHONPATH": str(Path(spec.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("error: sojourn cannot be loaded: ")
    assert why in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_without_stdin_or_stdout_a_record_is_shown_to_no_one(results: Path, closed: str) -> None:
    def show(more: str) -> subprocess.CompletedProcess[str]:
        words = f'exec "$0" -m sojourn show --results "$1" {more}'
        run = ["sh", "-c", words, sys.executable, str(results)]
        return subprocess.run(run, capture_output=True, text=True, check=False, timeout=120)

    done = show(closed)
    assert (done.returncode, done.stderr) == (show("").returncode, "")
