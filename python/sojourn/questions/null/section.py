"""Nothing was asked: the load axis is the number."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.report import show
from sojourn.report.section import Number, Shown


class NullShown(Shown):
    """What is 100 % load, where no other question has a number."""

    name = "null"

    def number(self, service: ServiceFinding) -> Number | None:
        """Max RPS, by which rule."""
        if self.name not in service.sections or service.max_rps is None:
            return None
        number = show.count(service.max_rps)
        text = f"100 % load, by {service.max_rps_rule.replace('_', ' ')}"
        return Number(number=number, unit="requests/s", said=text, short=f"{number}/s")


KIND = NullShown()
