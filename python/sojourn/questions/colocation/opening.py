"""A batch job beside a service: up to which load it may stay, and what it keeps there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.findings.neighbour_pace import Kept
from sojourn.plan.points import Verdict
from sojourn.questions.colocation.cells import SharedCell
from sojourn.questions.colocation.judge import Colocation, Rule
from sojourn.questions.colocation.section import PACE, TAIL, named, or_more, ruled
from sojourn.report import numbers, plot, show
from sojourn.report.draw.table import Table
from sojourn.report.openings.opening import (
    HEADLINE_MAX,
    Opening,
    Opens,
    an,
    capital,
    fitting,
    listed,
    short,
)
from sojourn.text.cut import middle

HEIGHT = 12  # lines of the plot
Ruled = tuple[str, Rule]


class ColocationOpens(Opens):
    """The admission rule of each neighbour under each setting."""

    name = "colocation"
    place = 40

    def applies(self, findings: Findings) -> bool:
        """Where a neighbour was measured at some load."""
        section = findings.section(Colocation)
        return bool(section and section.rules and any(one.cells for one in section.shared))

    def opening(self, findings: Findings, width: int) -> Opening:
        """The setting under which the job may stay longest, then the others."""
        section = findings.section(Colocation)
        assert section is not None  # noqa: S101  # it applies
        rules = ruled(findings)
        table = _table(rules)
        rows = [[plot.sign(n), *map(str, row)] for n, row in enumerate(table.rows)]
        target = f"{show.quantile(section.q)} ≤ {show.time(section.bound_ns)}"
        return Opening(
            headline=_headline(rules),
            sentences=tuple(_sentences(rules, target))[:3],
            figures=(TAIL, PACE),
            text=(*_plot(findings, section, width), "", *listed(["", *table.columns], rows, width)),
            table=table,
            caption=f"Up to which load each may stay: {section.service} within {target}, "
            f"and the job loses no more than it may",
        )


def _best(rules: Sequence[Ruled]) -> Ruled | None:
    admitted = [pair for pair in rules if pair[1].load is not None]
    return max(admitted, key=lambda pair: (pair[1].load or 0.0, _share(pair[1])), default=None)


def _share(rule: Rule) -> float:
    return (rule.kept.share or 0.0) if rule.kept else 0.0


def _headline(rules: Sequence[Ruled]) -> str:
    best = _best(rules)
    if best is None:
        is_known = all(rule.verdict is Verdict.VIOLATED for _, rule in rules)
        return "No job may stay at any load" if is_known else "Whether a job may stay is unknown"
    name, rule = best
    to = f"may stay {_up_to(rule)} load"
    few = middle(name, HEADLINE_MAX - len(to) - 1)
    return fitting(capital(f"{name} {to}"), capital(f"{few} {to}"))


def _up_to(rule: Rule) -> str:
    """`up to 30 %`; `up to at least 30 %` where the next load is not settled."""
    least = "at least " if rule.verdict is Verdict.UNKNOWN else ""
    return f"up to {least}{show.load(rule.load or 0.0)}"


def _sentences(rules: Sequence[Ruled], target: str) -> Iterator[str]:
    """The longest stay, the rules that end lower, and those that are not known."""
    best = _best(rules)
    if best is not None:
        name, rule = best
        keeps = f" and keeps {_keeps(rule.kept)} of its pace there" if rule.kept else ""
        stays = f"{capital(an(name))} may stay {_up_to(rule)} load"
        yield short(f"{stays}{keeps}.", f"{stays}.")
    refused = [pair for pair in rules if pair[1].verdict is Verdict.VIOLATED]
    lower = [
        pair
        for pair in rules
        if pair != best and pair[1].verdict is Verdict.HOLDS and pair[1].load is not None
    ]
    if refused:
        names = show.listed([name for name, _ in refused], 2)
        why = {_why(rule.stop) for _, rule in refused}
        because = f", because {why.pop()}" if len(why) == 1 else ""
        refuses = "No load is admitted"
        under = f"{refuses} under {len(refused)} settings."
        yield short(f"{refuses} with {names}{because}.", f"{refuses} with {names}.", under)
    for name, rule in lower[:1]:
        ends = f"With {an(name)} it ends at {show.load(rule.load or 0.0)}"
        yield short(f"{ends}, because {_why(rule.stop)}.", f"{ends}.")
    yield from _open(rules, target)


def _open(rules: Sequence[Ruled], target: str) -> Iterator[str]:
    unknown = [pair for pair in rules if pair[1].verdict is Verdict.UNKNOWN]
    if not rules or all(rule.stop is None and rule.load is None for _, rule in rules):
        yield f"No load was measured beside a job within {target}."
    elif len(unknown) == 1 and (stop := unknown[0][1].stop):
        name = an(unknown[0][0])
        yield f"With {name} it is open whether {show.load(stop.load)} load is admitted."
    elif unknown:
        count = f"{len(unknown)} of {len(rules)}" if len(unknown) < len(rules) else "All"
        yield f"{count} rules end at a load that is not settled."


def _keeps(retained: Kept) -> str:
    if retained.share is None:
        return "an unknown part"
    return numbers.part(retained.share, retained.interval)


def _why(stop: SharedCell | None) -> str:
    """Why the next load is not admitted."""
    if stop is None:
        return "no higher load was measured"
    if stop.meets is Verdict.VIOLATED:
        return "the service misses its target"
    if stop.verdict is Verdict.VIOLATED:
        return "the job loses too much"
    return "the next load is not settled"


def _table(rules: Sequence[Ruled]) -> Table:
    rows = []
    for name, rule in rules:
        load = "open" if rule.verdict is Verdict.UNKNOWN else "no load"
        if rule.load is not None:
            load = f"{show.load(rule.load)}{or_more(rule)}"
        stop = f"{show.load(rule.stop.load)}: {_why(rule.stop)}" if rule.stop else _why(None)
        keeps = _keeps(rule.kept) if rule.kept else "–"
        rows.append(
            (
                name,
                load,
                keeps,
                show.share(1 - rule.loss_max),
                stop,
            )
        )
    columns = ("beside", "may stay up to", "keeps there", "must keep", "ends at")
    return Table(columns=columns, rows=tuple(rows))


def _plot(findings: Findings, colocation: Colocation, width: int) -> Iterator[str]:
    """Tails by the letter of their row; dots alone."""
    yield f"{show.quantile(colocation.q)} of {colocation.service} against load, by letter; . alone"
    names = [name for name, _ in ruled(findings)]
    marks = []
    for name, one in named(findings):
        sign = plot.sign(names.index(name)) if one.neighbour and name in names else "."
        marks += [
            plot.Mark(x=cell.load, y=cell.tail_ns, sign=sign)
            for cell in one.cells
            if cell.tail_ns is not None
        ]
    target = f"{show.quantile(colocation.q)} <= {show.time(colocation.bound_ns)}"
    alone_first = sorted(marks, key=lambda mark: mark.sign != ".")
    yield from plot.draw(
        alone_first, bound_ns=colocation.bound_ns, bound=target, width=width, height=HEIGHT
    )


KIND = ColocationOpens()
