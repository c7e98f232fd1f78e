"""`plan --all` and `check --all`: what each study would measure here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.cli import lowered
from sojourn.cli.all_studies import budget_of_all_s, surveyed
from sojourn.cli.draw import escape, new_table, to_stdout
from sojourn.cli.plain import put_json
from sojourn.cli.scatter import scatter
from sojourn.units import show_s

if TYPE_CHECKING:
    from sojourn.campaign import Planned
    from sojourn.plan.difference import Shown
    from sojourn.report.index import Entry

_NOTES = 2  # combinations that are skipped, as a line of the table names them


def plan(
    names: Sequence[str], *, profile: str | None, sets: Sequence[str], results: Path, as_json: bool
) -> None:
    """Print what each study would measure here, what that can show, and how long all take."""
    planned = list(surveyed(names, profile, sets))
    total_s, budget_s = _total_s(planned), budget_of_all_s(planned)
    lowered.for_reading(results)  # the machine has been looked at: the rest only reads records
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
    planned = list(surveyed(names, profile, sets))
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
            reasons = dict.fromkeys(f"{o.reason}; {o.fix}" if o.fix else o.reason for o in left)
            here = f"[yellow]{count - len(left)} of {count}[/]"
            table.add_row(one.name, here, escape("\n".join(reasons)))
        else:
            table.add_row(one.name, "[green]all[/]", "")
    console.print(table)


def _why(entry: Entry) -> str:
    return escape("; ".join(filter(None, (entry.reason, entry.fix))))


def _labels(one: Planned) -> list[str]:
    return [service.label for service in one.whole.services]


def _say_skipped(planned: Sequence[Planned]) -> None:
    """The combinations that are skipped of studies that are not, each reason once a study."""
    for one in planned:
        reasons: dict[tuple[str, str], list[str]] = {}
        for left in one.held.skipped if one.fault is None else ():
            reasons.setdefault((left.reason, left.fix), []).append(left.who)
        for (reason, fix), owner in reasons.items():
            more = f" and {len(owner) - _NOTES} more" if len(owner) > _NOTES else ""
            text = "; ".join(filter(None, (f"{' · '.join(owner[:_NOTES])}{more}: {reason}", fix)))
            to_stdout().print(f"skipped: {one.name}: {escape(text)}", soft_wrap=True)


def _total_s(planned: Sequence[Planned]) -> float:
    return sum(one.entry.planned_s for one in planned)


def _entry_json(one: Planned) -> dict[str, Any]:
    entry = one.entry
    return {
        "study": one.name,
        "question": entry.question,
        "can": one.ahead is not None,
        "points": entry.planned,
        "wall_s": entry.planned_s,
        "reason": entry.reason,
        "fix": entry.fix,
        "skipped": [left.table for left in one.held.skipped],
        "too_short": one.ahead.shortfalls if one.ahead else (),
    }


def _shows(one: Planned, results: Path) -> Sequence[Shown]:
    """Which differences a study can show in its time, by service."""
    from sojourn.plan import difference
    from sojourn.questions import PLANS

    if one.ahead is None:
        return ()
    return difference.shown(one.study, one.ahead, PLANS, scatter(one.study, results)[0])
