"""The command line: verbs in the order in which data flows.

A command that is asked for by name is loaded alone; help and completion need them all.
"""

from __future__ import annotations

import inspect
import io
import os
import sys
from collections.abc import Iterable
from functools import cache
from typing import Annotated

import typer

from sojourn import built, handed, system
from sojourn.cli import lowered, verbs
from sojourn.cli.faults import guarded
from sojourn.cli.plain import put

ABOUT = """A tail-latency lab: how latency grows with load, and how much load fits a target.

\b
Examples:
  sojourn try http://localhost:8080/             # load your own service
  sojourn doctor                                 # what can be measured here
  sojourn plan latency_vs_load -p quick          # what would be measured
  sojourn run latency_vs_load -p quick           # measure, answer, report
  sojourn show                                   # print the newest answer
  sojourn sql "select key, p99_ns from outcomes" # query all numbers

Data goes to stdout, messages to stderr. Exit codes: 0 holds, 1 violated, 2 wrong study or
command, 3 unknown (a self-check failed), 4 something outside failed, 130 stopped.

Documentation: docs of a checkout; share/doc/sojourn/docs of the environment of a wheel.
"""


def flowing(text: str) -> str:
    """Help as the terminal breaks it: lines of a paragraph are joined, but for one behind `\\b`."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        one if one.startswith("\b") else " ".join(one.split("\n")) for one in paragraphs
    )


def _form() -> object:
    """The questions are loaded when the first study is read."""
    from sojourn import questions

    return questions.form()


handed.hand_in(handed.STUDY_FORM, _form)

HELP = frozenset({"-h", "--help"})


def _version(asked: bool) -> None:  # noqa: FBT001 - the library calls it so
    if asked:
        put(built.line())
        raise typer.Exit


def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show version, commit and features."
        ),
    ] = False,
) -> None: ...


_top.__doc__ = flowing(ABOUT)


def made(names: Iterable[str]) -> typer.Typer:
    """The program with these commands only."""
    app = typer.Typer(
        name="sojourn",
        help=flowing(ABOUT),
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_top)
    verbs.add(app, names, flowing)
    return app


@cache
def _whole() -> typer.Typer:
    return made(verbs.COMMANDS)


def __getattr__(name: str) -> typer.Typer:
    """`app`, the whole program, is made for whoever asks for it."""
    if name != "app":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _whole()


def _speak_any_text() -> None:
    """A terminal may lack a letter of the lab's own, such as µ or ≤: it then gets another."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _is_completed() -> bool:
    """Whether a shell asks how a command goes on, or for the script that makes it ask."""
    return "_SOJOURN_COMPLETE" in os.environ


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    lowered.Process.is_own = arguments is None

    def run() -> int | None:
        _speak_any_text()  # writes what waits to be written, which may fail
        first = next(iter(words), "")
        if not HELP & {*words[1:]}:
            system.check(first)
        is_alone = first in verbs.COMMANDS and not _is_completed()
        app = made([first]) if is_alone else _whole()
        code: int | None = app(args=words, prog_name="sojourn", standalone_mode=False)
        return code

    return guarded(run)
