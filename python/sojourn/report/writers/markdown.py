"""The answer and a table of loads for each service, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.load_point import LoadPoint
from sojourn.report import headline, openings, show, state, verdict_of_all
from sojourn.report.writers.writer import Writer
from sojourn.text.markdown import plain, row


def content(findings: Findings) -> bytes:
    """The answer first, then each service."""
    lines = [
        f"# {plain(findings.study)}: {plain(headline.of(findings))}",
        "",
        f"*{plain(findings.question)}*",
        "",
        f"**{show.verdict(findings.verdict)}**: {plain(openings.one_line(findings))}",
        "",
        plain(state.state_line(findings)),
    ]
    for service in findings.services:
        lines += ["", *_service(service)]
    lines += ["", *(f"- left out: {plain(one.reason)}" for one in findings.left_out)]
    return ("\n".join(lines).rstrip() + "\n").encode(errors="backslashreplace")


def _service(service: ServiceFinding) -> Iterator[str]:
    yield f"## {plain(service.service)}"
    yield ""
    yield f"{show.verdict(service.verdict)}: {plain(service.answer)}"
    for reason in service.reasons:
        yield f"- {plain(reason)}"
    if service.points:
        yield ""
        yield from _loads(service.points)
        if why := verdict_of_all.text(service):
            yield ""
            yield plain(why)


def _loads(points: Sequence[LoadPoint]) -> Iterator[str]:
    """Mean and every quantile by load, each with its interval where it has one."""
    quantiles = sorted({one.q for point in points for one in point.quantiles if one.q is not None})
    yield row(["load", "requests/s", "mean", *map(show.quantile, quantiles), "verdict"])
    yield row(["---"] * (4 + len(quantiles)))
    for point in points:
        known = {one.q: one for one in point.quantiles}
        yield row(
            [
                show.load(point.fraction),
                show.count(point.offered_rps),
                show.estimate(point.mean),
                *(show.estimate(known.get(q)) for q in quantiles),
                show.verdict(point.verdict),
            ]
        )


WRITER = Writer(name="markdown", about="answer and table of loads, for an issue", content=content)
