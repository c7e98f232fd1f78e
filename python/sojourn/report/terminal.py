"""The report as text: the answer, a table and a plot per service; reads without colour."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sojourn.analysis.findings import CheckRow, Findings, LoadPoint, ServiceFinding
from sojourn.plan.points import Verdict
from sojourn.report import facts, people, plot, show, stages
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
    if findings.noise:
        lines += ["", "noise on this host:"]
        lines += [line for what, mend in findings.noise for line in _item(f"{what}; {mend}", width)]
    if findings.command:
        lines += ["", f"again: {findings.command}"]
    whole = "\n".join(line.rstrip() for line in lines)
    return _painted(whole) if color else whole


def _head(findings: Findings, width: int) -> Iterator[str]:
    yield from textwrap.wrap(findings.answer, width)
    yield from _judged(findings.verdict, findings.reasons, width)


def _judged(verdict: Verdict, reasons: tuple[str, ...], width: int) -> Iterator[str]:
    """The verdict and its first reasons; the page has all."""
    yield f"verdict: {show.verdict(verdict)}"
    for reason in reasons[:REASONS]:
        yield from _item(reason, width)
    if len(reasons) > REASONS:
        yield f"- and {len(reasons) - REASONS} more"


def _service(service: ServiceFinding, width: int) -> Iterator[str]:
    yield f"{service.service} ".ljust(width, "=")
    yield from textwrap.wrap(service.answer, width)
    yield from _judged(service.verdict, service.reasons, width)
    for name, value in facts.of_service(service):
        yield from _item(f"{name}: {value}", width)
    if service.breakdown is not None:
        yield from stages.lines(service.breakdown, width)
    if not service.points:
        return
    yield ""
    yield from _table(service)
    doubts = people.doubts(service)
    if doubts:
        yield ""
        yield "to doubt:"
        yield from _doubts(doubts, width)
    yield ""
    yield from _plot(service, width)


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
            show.share(point.fraction),
            show.count(point.offered_rps),
            show.count(point.achieved_rps),
            *(_short(point, asked) for asked in (None, 0.5, q)),
            show.times(found.interval) if found else "–",
            show.verdict(point.verdict),
        )


def _short(point: LoadPoint, q: float | None) -> str:
    found = of_point(point, q)
    if found is None:
        return "–"
    if found.value is not None:
        return show.time(found.value)
    return "refused" if point.is_believed else "unknown"


def _plot(service: ServiceFinding, width: int) -> Iterator[str]:
    """Runs as small signs under the merged number of each load."""
    q = tail_q(service)
    tail = show.quantile(q)
    runs, points = [], []
    for point in service.points:
        for run in point.runs:
            ns = of_run(run, q)
            if ns is not None:
                sign = "." if run.is_believed else "x"
                runs.append(plot.Mark(fraction=point.fraction, ns=ns, sign=sign))
        found = of_point(point, q)
        if found is not None and found.value is not None and point.is_believed:
            points.append(plot.Mark(fraction=point.fraction, ns=found.value, sign=_sign(point)))
    if not runs and not points:
        yield f"No load has a {tail} that can be drawn."
        return
    qos = service.qos
    yield f"{tail} sojourn time against offered load, % of max RPS"
    yield from plot.draw(
        [*runs, *points],
        bound_ns=qos.bound_ns if qos else None,
        bound=f"QoS {tail} <= {show.time(qos.bound_ns)}" if qos else "",
        width=width,
    )
    yield "o holds  # violated  ? undecided  . one run  x not believed  ^ never completed"


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
    yield from _doubts(people.check_doubts(checks), width)


def _measured(row: CheckRow) -> str:
    if row.estimate.value is not None:
        return show.time(row.estimate.value)
    return "unknown" if row.verdict is Verdict.UNKNOWN else "refused"


def _doubts(doubts: list[people.Doubt], width: int) -> Iterator[str]:
    for doubt in doubts:
        often = f", {doubt.times} times" if doubt.times > 1 else ""
        detail = f": {doubt.detail}" if doubt.detail else ""
        yield from _item(f"{doubt.what} at {doubt.where}{often}{detail}", width)


def _item(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, initial_indent="- ", subsequent_indent="  ")


def _painted(plain: str) -> str:
    for verdict, code in _ANSI.items():
        word = show.verdict(verdict)
        plain = plain.replace(word, f"\x1b[{code}m{word}\x1b[0m")
    return plain
