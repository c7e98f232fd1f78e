"""Where the time of each request goes: columns of stages, and who made the slowest slow."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.findings.findings import ServiceFinding
from sojourn.questions.breakdown import figure, flame, stage_loads
from sojourn.questions.breakdown import show as stages
from sojourn.questions.breakdown.findings import Breakdown
from sojourn.report import show
from sojourn.report.section import Number, Shown


class BreakdownShown(Shown):
    """A table of stages; a number only where no other question has one."""

    name = "breakdown"
    template = "breakdown/section.html.j2"
    figures = (figure.KIND, flame.KIND, stage_loads.KIND)
    stages = stages  # what the template says of them

    def found(self, service: ServiceFinding) -> Breakdown | None:
        """The section, for the template."""
        return service.section(Breakdown)

    def number(self, service: ServiceFinding) -> Number | None:
        """How long a request takes in the server."""
        section = service.section(Breakdown)
        for column in section.columns if section else ():
            if column.mean_ns is not None:
                number = show.time(column.mean_ns)
                return Number(
                    number=number, said=f"mean in the server, {column.name}", short=number
                )
        return None

    def table(self, service: ServiceFinding, width: int) -> Iterator[str]:
        """The stages of every condition."""
        if section := service.section(Breakdown):
            yield from stages.lines(section, width)


KIND = BreakdownShown()
