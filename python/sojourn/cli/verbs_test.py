"""A command that is asked for by name loads only what it uses."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import typer

from sojourn import store
from sojourn.cli import app, verbs
from sojourn.errors import Exit

PACKAGE = Path(store.__file__).parents[2]
GOLDEN = Path(store.__file__).parent / "golden" / "record-1.tar.xz"
NUMERICS = {"numpy", "scipy", "hdrh"}
SCRIPT = """
import json, subprocess, sys
asked, start = [], subprocess.Popen.__init__
def counted(self, args, *more, **options):
    asked.append([str(word) for word in args])
    start(self, args, *more, **options)
subprocess.Popen.__init__ = counted
from sojourn.cli.app import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules), asked]), file=sys.stderr)
"""


def loaded(*arguments: str) -> tuple[set[str], list[list[str]]]:
    """Names of what a command imported, and the command lines of what it started."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules, asked = json.loads(done.stderr.splitlines()[-1])
    assert code == Exit.OK, done.stderr
    return set(modules), asked


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        (("ls",), "ls"),
        (("tco",), "tco_cmd"),
        (("provision",), "models_cmd"),
        (("run", "--help"), "run"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_a_command_loads_no_other_command(
    arguments: tuple[str, ...], own: str, tmp_path: Path
) -> None:
    place = ("--results", str(tmp_path)) if arguments == ("ls",) else ()
    modules, _ = loaded(*arguments, *place)
    others = {f"sojourn.cli.{module}" for _, module, _ in verbs.COMMANDS.values()}
    assert modules & others == {f"sojourn.cli.{own}"}


@pytest.mark.parametrize("study", ["selfcheck", "qos_matrix"])
def test_a_check_needs_no_numerics_and_asks_no_program_for_its_version(study: str) -> None:
    modules, asked = loaded("check", study)
    assert modules.isdisjoint(NUMERICS)
    assert {words[-1] for words in asked} <= {"--check"}, asked


def test_a_list_of_records_needs_no_numerics(tmp_path: Path) -> None:
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(tmp_path)  # noqa: S202 - our own; Python 3.11.2 knows no filters
    modules, asked = loaded("ls", "--results", str(tmp_path))
    assert modules.isdisjoint(NUMERICS)
    assert asked == []


def test_a_plan_asks_no_program_for_its_version(tmp_path: Path) -> None:
    _, asked = loaded("plan", "selfcheck", "--results", str(tmp_path))
    assert {words[-1] for words in asked} <= {"--check"}, asked


@pytest.mark.parametrize("name", verbs.COMMANDS)
def test_a_command_is_alone_what_it_is_among_all(name: str) -> None:
    alone, among = (
        typer.main.get_command(one).commands[name]  # type: ignore[attr-defined]
        for one in (app.made([name]), app.app)
    )
    assert (alone.name, alone.help) == (among.name, among.help)
    assert [(one.name, one.opts) for one in alone.params] == [
        (one.name, one.opts) for one in among.params
    ]


def test_a_word_that_is_no_command_is_held_against_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert app.main(["chekc"]) == Exit.USAGE
    assert "check" in capsys.readouterr().err


def test_every_module_of_a_command_is_in_the_table_and_followed_by_whoever_reads_imports() -> None:
    at = Path(verbs.__file__)
    tree = ast.parse(at.read_text(encoding="utf-8"))
    followed = {
        name.name
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in ast.walk(block)
        if isinstance(line, ast.ImportFrom) and line.module == "sojourn.cli"
        for name in line.names
    }
    modules = {module for _, module, _ in verbs.COMMANDS.values()}
    assert followed == modules
    assert {path.stem for path in at.parent.glob("*_cmd.py")} <= modules
    assert not verbs.VERBS.keys() & verbs.MODELS.keys()


def test_the_whole_program_has_the_commands_of_the_table_in_its_order_and_no_other() -> None:
    group = typer.main.get_command(app.app)
    assert list(group.commands) == list(verbs.COMMANDS)  # type: ignore[attr-defined]


def test_a_shell_is_offered_every_command() -> None:
    asked = {"_SOJOURN_COMPLETE": "complete_bash", "COMP_WORDS": "sojourn ", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from sojourn.cli.app import main; main()"],
        env={**os.environ, "PYTHONPATH": str(PACKAGE), **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(done.stdout.split()) == set(verbs.COMMANDS)
