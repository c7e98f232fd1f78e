"""`sojourn run --all`: study after study is measured, with a table of progress."""

from __future__ import annotations

import dataclasses
import math
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.cli.all_studies import budget_of_all_s, surveyed
from sojourn.cli.draw import escape, new_table, to_stderr, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import RESULTS
from sojourn.cli.plain import put_json
from sojourn.errors import Exit, SpecFault
from sojourn.units import NS_PER_S, parse_ns, show_s

if TYPE_CHECKING:
    from rich.table import Table

    from sojourn.campaign import Planned
    from sojourn.report.index import Entry
    from sojourn.run import Patience

_COLORS = {
    "answered": "green",
    "answered in part": "green",
    "failed": "red",
    "skipped": "yellow",
    "undecided": "yellow",
}


def run(
    names: Sequence[str],
    *,
    profile: str | None,
    sets: Sequence[str],
    results: Path,
    patience: Patience,
    is_new: bool,
    as_json: bool,
    is_quiet: bool,
    only: Sequence[str],
    within: str | None,
    is_agreed: bool,
) -> int:
    """Measure study after study; gives the exit code."""
    from sojourn import campaign
    from sojourn import run as running
    from sojourn.run.signals import ending_in_order

    asked_s = _within_s(within)
    show = _Show(is_quiet=is_quiet)
    show.line(f"looking at {len(names)} studies")
    planned = list(surveyed(names, profile, sets, is_agreed=is_agreed))
    with running.taken(
        "all studies",
        lambda event: say(event.text),
        wait_s=patience.turn_s,
        is_forced=patience.is_forced,
    ):
        pass  # who measures now is reported before anything is written
    command = _command(only, profile, sets, results, is_agreed=is_agreed)
    identity = {"studies": list(names), "profile": profile, "sets": list(sets)}
    going = campaign.opened(results, planned, identity=identity, command=command, is_new=is_new)
    done = sum(entry.state in campaign.DONE for entry in going.entries)
    if done:
        show.line(f"resumed: {done} of {len(planned)} studies are measured")
    show.began(going.entries)
    try:
        with ending_in_order():
            campaign.measure(
                going,
                planned,
                show.stage,
                patience=patience,
                is_new=is_new,
                within_s=budget_of_all_s(planned) if asked_s is None else asked_s,
            )
    except KeyboardInterrupt:
        say(f"stopped; measured points are saved; resume with: {command}")
        return Exit.INTERRUPTED
    finally:
        show.ended(going.entries)
    if waiting := [entry for entry in going.entries if entry.state == "waiting"]:
        need = show_s(sum(entry.planned_s for entry in waiting))
        say(f"{len(waiting)} studies are postponed, about {need}; resume with: {command}")
    say(f"report: {going.page}")
    if as_json:
        put_json(
            {
                "page": going.page,
                "exit": int(going.exit),
                "command": command,
                "studies": [dataclasses.asdict(entry) for entry in going.entries],
            }
        )
    else:
        to_stdout().print(table_of(going.entries))
        _say_answers(going.entries)
    return going.exit


class _Show:
    """The table of progress on stderr: drawn above the study that is measured, on a terminal."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet
        self._console = to_stderr()
        self._entries: Sequence[Entry] = ()
        self._reports: set[str] = set()

    def line(self, text: str) -> None:
        if not self._is_quiet:
            self._console.print(escape(text))

    def began(self, entries: Sequence[Entry]) -> None:
        """What is known before the first study begins."""
        self._entries = entries
        self._tell_new()
        left_s = sum(entry.planned_s for entry in entries if entry.state == "waiting")
        self.line(f"about {show_s(left_s)} of measuring ahead")

    @contextmanager
    def stage(self, one: Planned, entries: Sequence[Entry]) -> Iterator[Any]:
        """Called as one study of the campaign begins: returns who shows it."""
        from sojourn.cli.live import Display

        self._entries = entries
        self._tell_new()
        number = next(n for n, entry in enumerate(entries, 1) if entry.study == one.name)
        waiting_s = sum(entry.planned_s for entry in entries if entry.state == "waiting")
        self.line(
            f"[{number} of {len(entries)}] {one.name}: about {one.entry.planned} points, "
            f"{show_s(one.entry.planned_s)}; {show_s(one.entry.planned_s + waiting_s)} left in all"
        )
        began_s = time.monotonic()

        def above(left_s: float) -> Sequence[Table]:
            gone_s = time.monotonic() - began_s
            return (table_of(self._entries, now_s=gone_s, left_s=left_s),)

        with Display(one.study, is_quiet=self._is_quiet, above=above) as display:
            yield display

    def ended(self, entries: Sequence[Entry]) -> None:
        """What became of the last one."""
        self._entries = entries
        self._tell_new()

    def _tell_new(self) -> None:
        for entry in self._entries:
            if entry.state not in {"waiting", "measuring"} and entry.study not in self._reports:
                self._reports.add(entry.study)
                self.line(f"{entry.study}: {entry.state_text}: {entry.answer_text}")


def table_of(entries: Sequence[Entry], *, now_s: float = 0.0, left_s: float = 0.0) -> Table:
    """Study, state, points, time: what it took, or what is left.

    Args:
        entries: in order.
        now_s: that the study which is measured now has taken, s.
        left_s: that it will take, s.
    """
    table = new_table()
    table.add_column("study", overflow="fold", max_width=26)
    table.add_column("state", overflow="fold", min_width=9)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    for entry in entries:
        state = f"[{_COLORS.get(entry.state, 'dim')}]{escape(entry.state_text)}[/]"
        points, took = str(entry.points or "-"), show_s(entry.wall_s) if entry.wall_s else "-"
        if entry.state == "waiting":
            points, took = f"~{entry.planned}", f"~{show_s(entry.planned_s)}"
        elif entry.state == "measuring":
            points, took = f"~{entry.planned}", f"{show_s(now_s)}, ~{show_s(left_s)} left"
        table.add_row(escape(entry.study), state, points, took)
    return table


def _say_answers(entries: Sequence[Entry]) -> None:
    """What each study says, or why it says nothing, as a paragraph."""
    from rich.padding import Padding

    for entry in entries:
        if entry.answer_text:
            to_stdout().print(f"\n[bold]{escape(entry.study)}[/], {escape(entry.state_text)}:")
            to_stdout().print(Padding(escape(_state_text(entry)), (0, 0, 0, 2)))
        if entry.settle:  # in one line, to be copied
            text = f"  to settle the rest, {show_s(entry.settle_s)}: {entry.settle}"
            to_stdout().print(escape(text), soft_wrap=True, highlight=False)


def _state_text(entry: Entry) -> str:
    more = f" ({entry.left_count} combinations left out)" if entry.left_count else ""
    return entry.answer_text + more


def _within_s(text: str | None) -> float | None:
    """What `--within` says, s; infinite for none, None where it is not given."""
    if text is None or text == "none":
        return None if text is None else math.inf
    try:
        return parse_ns(text, needs_unit=True) / NS_PER_S
    except ValueError as error:
        fix = "write a time such as 30m, or none"
        raise SpecFault(str(error), at="--within", fix=fix) from None


def _command(
    only: Sequence[str], profile: str | None, sets: Sequence[str], results: Path, *, is_agreed: bool
) -> str:
    parts = ["sojourn", "run", "--all", *(["--yes"] if is_agreed else [])]
    parts += ["--only", ",".join(only)] if only else []
    parts += ["--profile", profile] if profile else []
    for text in sets:
        parts += ["--set", text]
    parts += ["--results", str(results)] if results != RESULTS else []
    return shlex.join(parts)
