"""Where the time of requests goes: stages by load, which is the tail, and who caused it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.plan.points import Verdict
from sojourn.questions.breakdown import show as stages
from sojourn.questions.breakdown import stage_loads
from sojourn.questions.breakdown.figure import PARTS
from sojourn.questions.breakdown.findings import Breakdown as Found
from sojourn.questions.breakdown.findings import Stages
from sojourn.report import show
from sojourn.report.openings.opening import Opening, Opens, fitting, sentence

BIG = 3  # stages that a bar names
LEAST = 0.005  # a smaller share rounds to none


class Breakdown(Opens):
    """Where the time of traced requests goes, by load."""

    name = "breakdown"
    place = 100

    def applies(self, findings: Findings) -> bool:
        """Where requests were traced, and nothing else was asked first."""
        return bool(_of(findings)) and not any(s.section(MaxLoad) for s in findings.services)

    def opening(self, findings: Findings, width: int) -> Opening:
        """For each service the tail's stage at its highest load, and who made it slow."""
        result = _of(findings)
        return Opening(
            headline=headline(result),
            sentences=tuple(sentences(result))[:3],
            figures=(stage_loads.NAME,),
            text=tuple(lines(result, width)),
        )


def _of(findings: Findings) -> list[tuple[ServiceFinding, Found]]:
    return [
        (service, section)
        for service in findings.services
        if (section := service.section(Found)) and stages.known(section)
    ]


def top(result: Found) -> Stages:
    """The column that is reported: the highest load, of those that the tracer left as they were."""
    columns = stages.known(result)
    return next((c for c in columns if c.name == result.top), columns[-1])


def _largest(column: Stages) -> tuple[str, float]:
    """The stage that takes most of the tail, and its share."""
    name, ns = max(column.tail or column.stages, key=lambda each: each[1])
    return name, ns / (column.tail_mean_ns or column.mean_ns or 1.0)


def headline(results: Sequence[tuple[ServiceFinding, Found]]) -> str:
    """The stage that is the tail, by service."""
    texts = {}
    for service, one in results:
        name, share = _largest(top(one))
        texts[service.service] = f"{100 * share:.0f} % {name}"
    whole = ", ".join(f"{service} {what}" for service, what in texts.items())
    return fitting(f"The tail is: {whole}", whole, next(iter(texts.values())))


def sentences(results: Sequence[tuple[ServiceFinding, Found]]) -> Iterator[str]:
    """Which stage, and who caused it; a sentence for each service, then one about the culprits."""
    for service, one in results[:2]:
        column = top(one)
        name, share = _largest(column)
        what = PARTS.get(name, (name, ""))[0]
        alone = next(filter(_is_by_itself, stages.known(one)), None)
        whole = show.time(column.tail_mean_ns)
        more = (
            f"; a request alone takes {show.time(alone.mean_ns)}"
            if alone and alone is not column
            else ""
        )
        start = (
            f"at {column.name} {100 * share:.0f} % of the {whole} of {service.service}'s slowest"
        )
        doubt = _doubt(column)
        yield sentence(
            f"{start} requests is {name} ({what}){more}{doubt}",
            f"{start} requests is {name} ({what}){doubt}",
            f"{start} requests is {name}{doubt}",
        )
    yield from _culprits(results)


def _is_by_itself(column: Stages) -> bool:
    """Whether a request had the service, and the service its machine, to itself."""
    return column.is_alone and column.neighbour == stage_loads.NO_NEIGHBOUR


def _doubt(column: Stages) -> str:
    return "" if column.verdict is Verdict.HOLDS else ", in doubt"


def _culprits(results: Sequence[tuple[ServiceFinding, Found]]) -> Iterator[str]:
    """Who made the slowest slow, of all services in one sentence."""
    named, asked = list[str](), list[bool]()
    for service, one in results:
        for column in stages.blamed(one):
            if column.name != one.accused or not column.culprits:
                continue
            asked.append(column.culprits.verdict is Verdict.HOLDS)
            who = [s for s in column.culprits.suspects if s.is_named and s.kind != "stage"]
            doubt = _doubt(column)
            named += [
                f"{first.about} ({show.share(first.share)}, {service.service}{doubt})"
                for first in who[:1]
            ]
    if named:
        yield sentence(
            f"the slowest were made slow by {' and '.join(named)}",
            f"the slowest were made slow by {named[0]}",
        )
    elif any(asked):
        yield "No single cause was shown to make the slowest requests slow."
    elif asked:
        yield "Who made the slowest requests slow is unknown."


def lines(results: Sequence[tuple[ServiceFinding, Found]], width: int) -> Iterator[str]:
    """A line for the mean and one for the tail of each load, their largest stages in words."""
    for n, (service, one) in enumerate(results):
        if n:
            yield ""
        yield f"{service.service}: time in the server, mean of all requests and of the slowest 1 %"[
            :width
        ]
        rows = [
            (
                c.name if not is_tail else "",
                "slowest" if is_tail else "all",
                show.time(c.tail_mean_ns if is_tail else c.mean_ns),
                _words(c, is_tail=is_tail),
            )
            for c in stage_loads.shown(one)
            for is_tail in (False, True)
        ]
        wide = max(len(row[0]) for row in rows)
        for name, of, total, text in rows:
            yield f"{name:<{wide}}  {of:<7} {total:>9}  {text}"[:width].rstrip()


def _words(column: Stages, *, is_tail: bool) -> str:
    """`EPoll 60 %, application 20 %, RX 10 %`."""
    parts = column.tail if is_tail else column.stages
    total = sum(ns for _, ns in parts) or 1.0
    large = sorted(parts, key=lambda each: -each[1])[:BIG]
    return ", ".join(f"{name} {_percent(ns / total)}" for name, ns in large if ns > 0)


def _percent(part: float) -> str:
    """A share that is there is never none.

    >>> _percent(0.98), _percent(0.002)
    ('98 %', '<1 %')
    """
    return f"{100 * part:.0f} %" if part >= LEAST else "<1 %"


KIND = Breakdown()
