"""`--all` of `run`, `plan` and `check`: many studies, a line of a table for each."""

from __future__ import annotations

import dataclasses
import math
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.cli import consent
from sojourn.cli.draw import escape, new_table, to_stderr, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import RESULTS
from sojourn.cli.plain import put_json
from sojourn.cli.scatter import scatter
from sojourn.errors import Exit, SpecFault
from sojourn.units import NS_PER_S, parse_ns, show_s

if TYPE_CHECKING:
    from rich.table import Table

    from sojourn.campaign import Planned
    from sojourn.plan.difference import Shown
    from sojourn.report.index import Entry
    from sojourn.run import Patience
    from sojourn.spec import Study

_COLORS = {
    "answered": "green",
    "answered in part": "green",
    "failed": "red",
    "skipped": "yellow",
    "undecided": "yellow",
}
_NOTES = 2  # combinations that are skipped, as a line of the table names them


def chosen(
    study: str | None, only: Sequence[str], *, is_all: bool, varied: Sequence[str]
) -> list[str]:
    """The studies that are asked for, in order, each once.

    Raises:
        SpecFault: the options contradict each other, or there is no such study.
    """
    from sojourn import spec

    if study is None and not is_all and not only:
        raise SpecFault(
            "no STUDY is named",
            at="the command line",
            fix=f"name one of {', '.join(spec.names())}, a TOML file, or give --all; "
            "`sojourn run --help`",
        )
    if study is not None:
        raise SpecFault(
            f"{study} is one study, --all and --only mean many",
            at="the command line",
            fix=f"leave {study} out, or write --all --only {study}",
        )
    if not is_all:
        raise SpecFault("--only is for --all", at="--only", fix="add --all, or name one study")
    if varied:
        raise SpecFault(
            "--vary is for one study, because it names that study's keys",
            at=f"--vary {varied[0]}",
            fix="name the study instead of --all",
        )
    named = [name.strip() for text in only for name in text.split(",") if name.strip()]
    for name in named:
        if not name.endswith(".toml") and name not in spec.names():
            raise SpecFault(
                f"there is no study called '{name}'",
                at=f"--only {','.join(only)}",
                fix=f"there are: {', '.join(spec.names())}; a file of your own ends with .toml",
            )
    return list(dict.fromkeys(named)) or spec.names()


def _surveyed(
    names: Sequence[str], profile: str | None, sets: Sequence[str], *, is_agreed: bool | None = None
) -> Iterator[Planned]:
    """Each study with what it would measure here.

    Args:
        names: of studies, or paths of files.
        profile: of all; None: each has its own.
        sets: `key=value` for every study.
        is_agreed: whether they may load other machines; None: they are only looked at.
    """
    from sojourn import campaign, host

    def may(name: str, study: Study) -> bool:
        if is_agreed is None:
            consent.say_asked(study)
        else:
            consent.agreed(name, study, is_agreed=is_agreed)
        return bool(is_agreed)

    return campaign.survey(names, host.read(), profile=profile, sets=sets, may=may)


def plan(
    names: Sequence[str], *, profile: str | None, sets: Sequence[str], results: Path, as_json: bool
) -> None:
    """Print what each study would measure here, what that can show, and how long all take."""
    planned = list(_surveyed(names, profile, sets))
    total_s, budget_s = _total_s(planned), _budget_s(planned)
    if as_json:
        put_json(
            {
                "studies": [_entry_json(one) | {"shows": _shows(one, results)} for one in planned],
                "wall_s": total_s,
                "budget_s": budget_s,
                "points": sum(one.entry.planned for one in planned),
            }
        )
        return
    console = to_stdout()
    table = new_table()
    table.add_column("study", overflow="fold", max_width=26)
    for name in ("points", "time", "shows", "skipped"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("question, or why not", overflow="fold", min_width=30)
    for one in planned:
        entry, left = one.entry, str(len(one.held.skipped) or "-")
        if one.ahead is None:
            table.add_row(one.name, "-", "-", "-", left, f"[yellow]{entry.state}[/]: {_why(entry)}")
            continue
        points, question = str(entry.planned), escape(entry.question)
        ratio = max((shown.ratio for shown in _shows(one, results)), default=0.0)
        report = "-" if not ratio else "nothing" if math.isinf(ratio) else f"× {ratio:.2g}"
        table.add_row(one.name, points, show_s(entry.planned_s), report, left, question)
    console.print(table)
    console.print("[dim]shows: the least ratio of two levels' p99 that this time can show[/]")
    _say_skipped(planned)
    total = sum(one.entry.planned for one in planned)
    can = sum(one.ahead is not None for one in planned)
    console.print(
        f"{can} of {len(planned)} studies, about {total} points, about {show_s(total_s)} in all"
    )
    if budget_s and total_s > budget_s:
        console.print(
            f"one run takes {show_s(budget_s)} at most: what does not fit waits, and the same "
            "command goes on with it; --within says another time, --only chooses"
        )
    short = [(one.name, text) for one in planned if one.ahead for text in one.ahead.shortfalls]
    for name, text in short:
        console.print(f"[yellow]too short[/]: {name}: {escape(text)}", soft_wrap=True)


def check(names: Sequence[str], *, profile: str | None, sets: Sequence[str], as_json: bool) -> None:
    """Print of each study what this machine can measure, and what the rest would take."""
    planned = list(_surveyed(names, profile, sets))
    if as_json:
        put_json({"studies": [_entry_json(one) for one in planned]})
        return
    console = to_stdout()
    table = new_table()
    table.add_column("study", overflow="fold", max_width=26)
    table.add_column("here", no_wrap=True)
    table.add_column("why, and how to fix it", overflow="fold", min_width=30)
    for one in planned:
        if one.fault is not None:
            table.add_row(one.name, "[yellow]no[/]", _why(one.entry))
        elif left := one.held.skipped:
            count = sum(map(len, map(one.whole.combinations, _labels(one))))
            reasons = dict.fromkeys(f"{o.reason}; {o.mend}" if o.mend else o.reason for o in left)
            here = f"[yellow]{count - len(left)} of {count}[/]"
            table.add_row(one.name, here, escape("\n".join(reasons)))
        else:
            table.add_row(one.name, "[green]all[/]", "")
    console.print(table)


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
    planned = list(_surveyed(names, profile, sets, is_agreed=is_agreed))
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
                within_s=_budget_s(planned) if asked_s is None else asked_s,
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


def _why(entry: Entry) -> str:
    return escape("; ".join(filter(None, (entry.reason, entry.mend))))


def _labels(one: Planned) -> list[str]:
    return [service.label for service in one.whole.services]


def _say_skipped(planned: Sequence[Planned]) -> None:
    """The combinations that are skipped of studies that are not, each reason once a study."""
    for one in planned:
        reasons: dict[tuple[str, str], list[str]] = {}
        for left in one.held.skipped if one.fault is None else ():
            reasons.setdefault((left.reason, left.mend), []).append(left.who)
        for (reason, fix), owner in reasons.items():
            more = f" and {len(owner) - _NOTES} more" if len(owner) > _NOTES else ""
            text = "; ".join(filter(None, (f"{' · '.join(owner[:_NOTES])}{more}: {reason}", fix)))
            to_stdout().print(f"skipped: {one.name}: {escape(text)}", soft_wrap=True)


def _total_s(planned: Sequence[Planned]) -> float:
    return sum(one.entry.planned_s for one in planned)


def _within_s(text: str | None) -> float | None:
    """What `--within` says, s; infinite for none, None where it is not given."""
    if text is None or text == "none":
        return None if text is None else math.inf
    try:
        return parse_ns(text, needs_unit=True) / NS_PER_S
    except ValueError as error:
        fix = "write a time such as 30m, or none"
        raise SpecFault(str(error), at="--within", fix=fix) from None


def _budget_s(planned: Sequence[Planned]) -> float | None:
    """What one run of all may take in their profile; None where they have several."""
    from sojourn.campaign import BUDGET_S

    profiles = {one.whole.run.profile for one in planned}
    return BUDGET_S.get(profiles.pop()) if len(profiles) == 1 else None


def _entry_json(one: Planned) -> dict[str, Any]:
    entry = one.entry
    return {
        "study": one.name,
        "question": entry.question,
        "can": one.ahead is not None,
        "points": entry.planned,
        "wall_s": entry.planned_s,
        "reason": entry.reason,
        "mend": entry.mend,
        "skipped": [left.table for left in one.held.skipped],
        "too_short": one.ahead.shortfalls if one.ahead else (),
    }


def _shows(one: Planned, results: Path) -> Sequence[Shown]:
    """Which differences a study can show in its time, by service."""
    from sojourn.plan import difference

    if one.ahead is None:
        return ()
    return difference.shown(one.study, one.ahead, scatter(one.study, results)[0])


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
