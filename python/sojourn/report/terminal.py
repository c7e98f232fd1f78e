"""The report as text: the answers first, then a table and a plot per service, then the doubts.

Reads without colour; the last line is what to run next.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sojourn.analysis.findings import Border, CheckRow, Findings, LoadPoint, ServiceFinding, Settle
from sojourn.plan.points import Verdict
from sojourn.report import facts, headline, people, plot, show, stages, terminal_tile, tiles
from sojourn.report.draw import limits
from sojourn.report.draw.lookup import of_point, of_run, tail_q

REASONS = 3
_ANSI = {Verdict.HOLDS: "32", Verdict.VIOLATED: "31", Verdict.UNKNOWN: "33"}


def text(findings: Findings, width: int = 80, *, color: bool = False) -> str:
    """The whole report in at most `width` columns.

    Args:
        findings: what to show.
        width: columns, at least 60.
        color: paint the verdicts with ANSI colours.
    """
    lines = list(_head(findings, width))
    for service in findings.services:
        lines += ["", *_service(service, width)]
    if findings.checks:
        lines += ["", *_checks(findings.checks, width)]
    lines += _doubted(findings, width)
    lines += _next(findings, width)
    whole = "\n".join(line.rstrip() for line in lines)
    return _painted(whole) if color else whole


def _head(findings: Findings, width: int) -> Iterator[str]:
    """The answers. What has no tile is said in the words of the analysis."""
    for service in findings.services:
        yield from terminal_tile.lines(service, width)
    checked = headline.checks(findings)
    if not findings.services:
        yield from textwrap.wrap(findings.answer, width)
    elif checked:
        yield f"ideal queues: {checked}"
    if len(findings.services) != 1 or findings.checks:
        yield f"all together: {show.verdict(findings.verdict)}"


def _service(service: ServiceFinding, width: int) -> Iterator[str]:
    yield f"{service.service} ".ljust(width, "=")
    if service.points:
        yield from _table(service)
    if service.breakdown is not None:
        yield from stages.lines(service.breakdown, width)
    if service.points:
        yield ""
        yield from _plot(service, width)
        yield ""
    elif service.max_load and service.max_load.border and service.max_load.border.curve:
        yield from _chance(service.max_load.border, width)
        yield ""
    yield from textwrap.wrap(service.answer, width)
    for name, value in facts.of_service(service):
        yield from _item(f"{name}: {value}", width)


def _table(service: ServiceFinding) -> Iterator[str]:
    """Offered and achieved in requests/s; the interval is that of the last time column."""
    q = tail_q(service)
    tail = show.quantile(q)
    form = "{:>6} {:>8} {:>8} {:>8} {:>8} {:>8}  {:<16} {}"
    yield form.format(
        "load", "offered", "achieved", "mean", "p50", tail, "95 % interval", "verdict"
    )
    for point in service.points:
        found = of_point(point, q)
        yield form.format(
            show.load(point.fraction),
            show.count(point.offered_rps),
            show.count(point.achieved_rps),
            *(_short(point, asked) for asked in (None, 0.5, q)),
            show.times(found.interval) if found else "–",
            people.verdict(point),
        )
    if any(people.chance(point) for point in service.points):
        yield "P: the probability that this load meets the target; it is borderline"


def _short(point: LoadPoint, asked: float | None) -> str:
    found = of_point(point, asked)
    if found is None:
        return "–"
    if found.value is None:
        at_least = limits.of_load(point, asked) if asked else None
        if at_least is not None:
            return f"≥{show.time(at_least)}"
        return "refused" if point.is_believed else "unknown"
    return f"≤{show.time(found.value)}" if found.lateness_ns else show.time(found.value)


def _plot(service: ServiceFinding, width: int) -> Iterator[str]:
    """Runs as small signs under the merged number of each load."""
    q = tail_q(service)
    tail = show.quantile(q)
    marks = [*_runs(service, q), *_loads(service, q)]
    if not marks:
        yield f"No load has a {tail} that can be drawn."
        return
    qos, search = service.qos, service.max_load
    fits = search.border.fraction if search and search.border else None
    yield f"{tail} sojourn time against offered load, % of max RPS"
    yield from plot.draw(
        marks,
        bound_ns=qos.bound_ns if qos else None,
        bound=f"QoS {tail} <= {show.time(qos.bound_ns)}" if qos else "",
        band=(fits.lo, fits.hi) if fits else None,
        width=width,
    )
    yield "o holds  # violated  ? undecided  . one run  x not believed  ^ at least that"


def _chance(border: Border, width: int) -> Iterator[str]:
    """How surely each load meets the target: all there is to draw where none was swept."""
    top = border.curve[-1][0]
    steps = [top * i / 5 for i in range(6)]
    yield "probability that an offered load (requests/s) meets the target"
    yield from plot.canvas(
        [plot.Mark(x=rps, y=chance, sign="o") for rps, chance in border.curve],
        x=plot.Axis(lo=0.0, hi=top, ticks=tuple((rps, show.round_count(rps)) for rps in steps)),
        y=plot.Axis(lo=0.0, hi=1.0, ticks=tuple((p, show.share(p)) for p in (0.0, 0.5, 0.95, 1.0))),
        width=width,
        height=10,
    )


def _runs(service: ServiceFinding, q: float) -> Iterator[plot.Mark]:
    for point in service.points:
        for run in point.runs:
            ns = of_run(run, q)
            if ns is not None:
                yield plot.Mark(x=point.fraction, y=ns, sign="." if run.is_believed else "x")


def _loads(service: ServiceFinding, q: float) -> Iterator[plot.Mark]:
    """The merged number of each load; an arrow upwards where only a least value is known."""
    for point in service.points:
        found = of_point(point, q)
        if not point.is_believed or found is None:
            continue
        if not limits.is_open(found) and found.value is not None:
            yield plot.Mark(x=point.fraction, y=found.value, sign=_sign(point))
            continue
        at_least = limits.of_load(point, q)
        if at_least is not None:
            yield plot.upwards(plot.Mark(x=point.fraction, y=at_least, sign="^"))
        if found.value is not None:
            yield plot.Mark(x=point.fraction, y=found.value, sign="^")


def _sign(point: LoadPoint) -> str:
    return {Verdict.HOLDS: "o", Verdict.VIOLATED: "#", Verdict.UNKNOWN: "?"}[point.verdict]


def _checks(checks: tuple[CheckRow, ...], width: int) -> Iterator[str]:
    yield "against theory ".ljust(width, "=")
    form = "{:<8} {:>5} {:>8} {:>9} {:>9}  {:<16} {}"
    yield form.format("system", "rho", "quantity", "theory", "measured", "95 % interval", "verdict")
    for row in checks:
        found = row.estimate
        yield form.format(
            row.system,
            f"{row.rho:g}",
            row.quantity,
            show.time(row.theory_ns),
            _measured(row),
            show.times(found.interval),
            show.verdict(row.verdict),
        )


def _measured(row: CheckRow) -> str:
    if row.estimate.value is not None:
        return show.time(row.estimate.value)
    return "unknown" if row.verdict is Verdict.UNKNOWN else "refused"


def _doubted(findings: Findings, width: int) -> Iterator[str]:
    """Everything that speaks against the numbers above, in one place."""
    said = list(_judged(findings.reasons, width))
    for service in findings.services:
        said += _doubts(people.doubts(service), width, of=f"{service.service}: ")
    said += _doubts(people.check_doubts(findings.checks), width)
    said += [
        line for what, mend in findings.noise for line in _item(f"this host: {what}; {mend}", width)
    ]
    if said:
        yield ""
        yield "to doubt ".ljust(width, "=")
        yield from said


def _judged(reasons: Sequence[str], width: int) -> Iterator[str]:
    """The first reasons; the page has all."""
    for reason in reasons[:REASONS]:
        yield from _item(reason, width)
    if len(reasons) > REASONS:
        yield f"- and {len(reasons) - REASONS} more reasons"


def _doubts(doubts: list[people.Doubt], width: int, *, of: str = "") -> Iterator[str]:
    for doubt in doubts:
        often = f", {doubt.times} times" if doubt.times > 1 else ""
        detail = f": {doubt.detail}" if doubt.detail else ""
        yield from _item(f"{of}{doubt.what} at {doubt.where}{often}{detail}", width)


def _next(findings: Findings, width: int) -> Iterator[str]:
    """What to run next; commands stay in one line, to be copied."""
    found = [s.max_load.settle for s in findings.services if s.max_load and s.max_load.settle]
    settles: Settle | None = max(found, key=lambda one: one.seconds, default=None)
    if settles is None and not findings.command:
        return
    yield ""
    if findings.command:
        yield from _command("again", findings.command, width)
    if settles is not None:
        yield from _item(f"{tiles.settles(settles)}:", width)
        yield from _command("next", settles.command, width)


def _command(name: str, command: str, width: int) -> list[str]:
    return textwrap.wrap(f"{name}: {command}", width, subsequent_indent="  ",
                         break_on_hyphens=False)  # fmt: skip


def _item(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, initial_indent="- ", subsequent_indent="  ")


def _painted(plain: str) -> str:
    for verdict, code in _ANSI.items():
        word = show.verdict(verdict)
        plain = plain.replace(word, f"\x1b[{code}m{word}\x1b[0m")
    return plain
