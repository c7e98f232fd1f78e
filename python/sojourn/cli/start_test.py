"""What a start does not load: help and completion answer at the speed of a key press."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import __version__, spec
from sojourn.cli import options

HEAVY = ("numpy", "scipy", "statsmodels", "pandas", "pyarrow", "duckdb", "altair", "jinja2")
SCRIPT = """
import json, sys
from sojourn.cli.app import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def started(*arguments: str, **variables: str) -> tuple[int, str, set[str]]:
    """Exit code, stdout, and the top-level names of what was imported."""
    package = Path(spec.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        env={**os.environ, "PYTHONPATH": str(package), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, done.stdout, {name.partition(".")[0] for name in modules}


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
    ],
    ids=" ".join,
)
def test_help_loads_nothing_that_computes(arguments: tuple[str, ...]) -> None:
    code, out, modules = started(*arguments)
    assert (code, "sojourn" in out) == (0, True)
    assert modules.isdisjoint(HEAVY)


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


START = """
import json, sys
from sojourn.__main__ import start
code = start()
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def test_the_version_is_told_before_any_command_is_loaded() -> None:
    package = Path(spec.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", START, "--version"],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert (code, done.stdout) == (0, f"sojourn {__version__}\n")
    assert {name for name in modules if name.startswith("sojourn")} == {
        "sojourn",
        "sojourn.__main__",
    }
    assert set(modules).isdisjoint({"typer", "inspect", "subprocess", "shutil"})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_version_that_cannot_be_written_is_a_failure_that_is_told() -> None:
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
    "arguments", [("plan", "selfcheck"), ("doctor", "--watch-s", "0.1"), ("ls",)]
)
def test_looking_ahead_and_around_needs_no_statistics_and_no_figures(
    arguments: tuple[str, ...],
) -> None:
    code, _, modules = started(*arguments)
    assert code == 0
    assert modules.isdisjoint({"statsmodels", "pandas", "altair", "jinja2"})


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
