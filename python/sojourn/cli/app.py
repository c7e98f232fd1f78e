"""The command line: verbs in the order in which data flows."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Iterator
from typing import Annotated

import typer
from typer.models import CommandInfo

from sojourn import built, handed, system
from sojourn.cli import (
    compare_cmd,
    gate_cmd,
    history_cmd,
    init_cmd,
    install_cmd,
    judge_cmd,
    kinds,
    lowered,
    ls,
    machine,
    manage_cmd,
    mcp_cmd,
    models_cmd,
    noise_cmd,
    open_cmd,
    plan,
    records,
    rm,
    run,
    sql,
    try_cmd,
    view_cmd,
)
from sojourn.cli.faults import guarded
from sojourn.cli.plain import put

ABOUT = """A tail-latency lab: how latency grows with load, and how much load fits a target.

\b
Examples:
  sojourn try http://localhost:8080/             load your own service
  sojourn doctor                                 what this machine can measure
  sojourn plan latency_vs_load -p quick          what would be measured
  sojourn run latency_vs_load -p quick           measure, answer, report
  sojourn show                                   print the newest answer
  sojourn sql "select key, p99_ns from outcomes" query all numbers

Data goes to stdout, messages to stderr. Exit codes: 0 holds, 1 violated, 2 wrong study or
command, 3 unknown (a self-check failed), 4 something outside failed, 130 stopped.
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

app = typer.Typer(
    name="sojourn",
    help=flowing(ABOUT),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

HELP = frozenset({"-h", "--help"})
_BEFORE, _MEASURE, _AFTER = "Before", "Measure", "After"


def _version(asked: bool) -> None:  # noqa: FBT001 - the library calls it so
    if asked:
        put(built.line())
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show version, commit and features."
        ),
    ] = False,
) -> None: ...


app.command("try", rich_help_panel=_BEFORE)(try_cmd.try_)
app.command(rich_help_panel=_BEFORE)(init_cmd.init)
app.command(rich_help_panel=_BEFORE)(machine.doctor)
app.command(rich_help_panel=_BEFORE)(noise_cmd.noise)
app.command(rich_help_panel=_BEFORE)(kinds.kinds)
app.command(rich_help_panel=_BEFORE)(install_cmd.install)
app.command(rich_help_panel=_BEFORE)(plan.check)
app.command(rich_help_panel=_BEFORE)(plan.plan)
app.command(rich_help_panel=_MEASURE)(run.run)
app.command(rich_help_panel=_MEASURE)(compare_cmd.compare)
app.command(rich_help_panel=_MEASURE)(gate_cmd.gate)
app.command(rich_help_panel=_MEASURE)(judge_cmd.judge)
app.command(rich_help_panel=_MEASURE)(manage_cmd.manage)
app.command(rich_help_panel=_MEASURE)(machine.restore)
app.command(rich_help_panel=_AFTER)(ls.ls)
app.command(rich_help_panel=_AFTER)(records.show)
app.command("report", rich_help_panel=_AFTER)(records.write)
app.command(rich_help_panel=_AFTER)(history_cmd.history)
app.command(rich_help_panel=_AFTER)(sql.sql)
app.command(rich_help_panel=_AFTER)(view_cmd.view)
app.command(rich_help_panel=_AFTER)(mcp_cmd.mcp)
app.command("open", rich_help_panel=_AFTER)(open_cmd.open_)
app.command(rich_help_panel=_AFTER)(rm.rm)
app.add_typer(models_cmd.app)
_top.__doc__ = flowing(ABOUT)


def commands(part: typer.Typer) -> Iterator[CommandInfo]:
    """Every command of a part, and of the parts in it."""
    yield from part.registered_commands
    for group in part.registered_groups:
        if group.typer_instance is not None:
            yield from commands(group.typer_instance)


for _command in commands(app):
    if _command.callback is not None:
        _command.help = flowing(_command.callback.__doc__ or "")


def _speak_any_text() -> None:
    """A terminal may lack a letter of the lab's own, such as µ or ≤: it then gets another."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    lowered.Process.is_own = arguments is None

    def run() -> int | None:
        _speak_any_text()  # writes what waits to be written, which may fail
        if not HELP & {*words[1:]}:
            system.check(next(iter(words), ""))
        code: int | None = app(args=words, prog_name="sojourn", standalone_mode=False)
        return code

    return guarded(run)
