"""The report as text: the answers first, then a table and a plot per service, then the doubts.

Reads without colour; the last line is what to run next.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.plan.points import Verdict
from sojourn.report import (
    doubts,
    factors,
    facts,
    labels,
    not_measured,
    openings,
    parts,
    people,
    resources,
    show,
    state,
    tiles,
)
from sojourn.visible import visible

REASONS = 3
_ANSI = {Verdict.HOLDS: "32", Verdict.VIOLATED: "31", Verdict.UNKNOWN: "33"}


def text(
    findings: Findings,
    of: parts.Parts,
    width: int = 80,
    *,
    color: bool = False,
    is_whole: bool = True,
) -> str:
    """The report in at most `width` columns.

    Args:
        findings: what to show.
        of: how questions are shown and answered.
        width: columns, at least 60.
        color: paint the verdicts with ANSI colours.
        is_whole: with every factor, service and table; else the first screen, doubts and what is
            next, where the question has a first screen of its own.
    """
    with parts.using(of):
        result = _text(findings, width, is_whole=is_whole)
    return _painted(result) if color else result


def whole(findings: Findings, width: int = 80) -> str:
    """The same within `parts.using`, without colour."""
    return _text(findings, width, is_whole=True)


def answer(findings: Findings, of: parts.Parts) -> str:
    """What the first screen says, in one line: for tables of studies and records."""
    with parts.using(of):
        return openings.one_line(findings)


def _text(findings: Findings, width: int, *, is_whole: bool) -> str:
    opening = openings.of(findings, width)
    lines = list(_head(findings, opening, width))
    lines += _left_out(findings, width)
    if is_whole or opening.has_tiles:
        lines += [] if opening.has_tiles else _in_words(findings, width)
        lines += _below(findings, width)
    lines += _doubted(findings, width)
    lines += _next(findings, width)
    return visible("\n".join(line.rstrip() for line in lines))


def _in_words(findings: Findings, width: int) -> Iterator[str]:
    """What questions about all services found, in the words of the analysis."""
    results = [message for kind in parts.sections() for message in kind.study_head(findings)]
    if results:
        yield from ("", "in words ".ljust(width, "="))
        yield from (line for the_text in results for line in show.wrapped(the_text, width))


def _below(findings: Findings, width: int) -> Iterator[str]:
    """Every factor, service and table."""
    if findings.factors:
        yield from ("", *factors.lines(findings.factors, width))
    for service in findings.services:
        yield from ("", *_service(service, width))
    for kind in parts.sections():
        if results := list(kind.study_table(findings, width)):
            yield from ("", *results)


def _head(findings: Findings, opening: openings.Opening, width: int) -> Iterator[str]:
    """The first screen; what has no opening of its own is reported in the words of the analysis."""
    if opening.has_tiles:
        yield from _plainly(findings, opening.text, width)
        return
    yield opening.headline
    for message in opening.sentences:
        yield from show.wrapped(message.replace("`", ""), width)
    yield from show.wrapped(state.state_line(findings).replace("`", ""), width)
    yield ""
    yield from opening.text


def _plainly(findings: Findings, lines: Sequence[str], width: int) -> Iterator[str]:
    first = [kind for kind in parts.sections() if kind.leads and findings.services]
    for kind in first:
        yield from (
            part for line in kind.study_head(findings) for part in textwrap.wrap(line, width)
        )
    yield from lines
    if not findings.services:
        yield from textwrap.wrap(findings.answer, width)
    else:
        for kind in (kind for kind in parts.sections() if kind not in first):
            for message in kind.study_head(findings):
                yield from textwrap.wrap(message, width)
    if len(findings.services) != 1 or findings.sections:
        yield f"all together: {show.verdict(findings.verdict)}"
    yield from show.wrapped(state.state_line(findings).replace("`", ""), width)


def _left_out(findings: Findings, width: int) -> Iterator[str]:
    """Combinations of levels without an answer, each reason once."""
    if findings.left_out:
        yield ""
        yield "not measured ".ljust(width, "=")
    for line in not_measured.lines(findings.left_out):
        yield from _item(line, width)


def _service(service: ServiceFinding, width: int) -> Iterator[str]:
    yield from show.wrapped(show.ruled(labels.called(service), width), width)
    for kind in parts.sections():
        yield from kind.table(service, width)
    for kind in parts.sections():
        yield from kind.plot(service, width)
    yield from textwrap.wrap(service.answer, width)
    yield from resources.lines(service, width)
    for name, value in facts.of_service(service):
        yield from _item(f"{name}: {value}", width)


def _doubted(findings: Findings, width: int) -> Iterator[str]:
    """Everything that speaks against the numbers above, in one place."""
    texts = [line for lost in people.lost(findings.points) for line in _item(lost, width)]
    shared = doubts.of_services(findings) if findings.factors else ()
    known = {one.what for one in shared}
    reasons = [one for one in doubts.reasons(findings) if doubts.title(one) not in known]
    texts += [*_judged(reasons, width), *_doubts(shared, width)]
    for service in findings.services if not findings.factors else ():
        own = people.doubts(service, has_runs=not findings.points)
        texts += _doubts(own, width, of=f"{labels.called(service)}: ")
    for kind in parts.sections():
        texts += _doubts(kind.study_doubts(findings), width)
    texts += [
        line for what, fix in findings.noise for line in _item(f"this host: {what}; {fix}", width)
    ]
    if texts:
        yield ""
        yield "to doubt ".ljust(width, "=")
        yield from texts


def _judged(reasons: Sequence[str], width: int) -> Iterator[str]:
    """The first reasons; the page has all."""
    left = len(reasons) - REASONS
    shown = (
        reasons if left == 1 else reasons[:REASONS]
    )  # one more takes no more room than its count
    for reason in shown:
        yield from _item(reason, width)
    if left > 1:
        yield f"- and {left} more reasons"


def _doubts(results: Sequence[people.Doubt], width: int, *, of: str = "") -> Iterator[str]:
    for doubt in results:
        often = f", {doubt.times} times" if doubt.times > 1 else ""
        detail = f": {doubt.detail}" if doubt.detail else ""
        yield from _item(f"{of}{doubt.what} at {doubt.where}{often}{detail}", width)


def _next(findings: Findings, width: int) -> Iterator[str]:
    """What to run next; commands stay in one line, to be copied."""
    settles = state.settle(findings)
    if settles is None and not findings.command:
        return
    yield ""
    if findings.command:
        yield from _command("again", findings.command, width)
    if settles is not None:
        yield from _item(f"{tiles.settles(settles)}:", width)
        yield from _command("next", settles.command, width)


def _command(name: str, command: str, width: int) -> list[str]:
    return textwrap.wrap(
        f"{name}: {command}", width, subsequent_indent="  ", break_on_hyphens=False
    )


def _item(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, initial_indent="- ", subsequent_indent="  ")


def _painted(plain: str) -> str:
    for verdict, code in _ANSI.items():
        word = show.verdict(verdict)
        plain = plain.replace(word, f"\x1b[{code}m{word}\x1b[0m")
    return plain
