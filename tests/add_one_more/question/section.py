"""What half of the load is like: a table of its runs."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.questions.half.judge import Half
from sojourn.report.draw.table import Table
from sojourn.report.section import Shown


class HalfShown(Shown):
    """A row for each run."""

    name = "half"

    def data(self, service: ServiceFinding) -> Table | None:
        """Throughput of each run, requests/s."""
        result = service.sections.get(self.name)
        if not isinstance(result, Half) or not result.rates:
            return None
        return Table(columns=("run", "achieved_rps"), rows=tuple(enumerate(result.rates)))


KIND = HalfShown()
