"""A study with factors of which no run can be believed: said once, with what would help most."""

from __future__ import annotations

import textwrap

from sojourn.analysis.findings import Findings
from sojourn.report import doubts, people
from sojourn.report.draw.lookup import slug
from sojourn.report.openings.opening import WORDS_MAX, Opening, Opens

HELP = "; "  # before what would mend it


class Unbelieved(Opens):
    """Nothing to draw but what was measured and not believed."""

    name = "unbelieved"

    def applies(self, findings: Findings) -> bool:
        """Where loads were measured under several levels, and not one of them is believed."""
        points = [point for service in findings.services for point in service.points]
        return bool(findings.factors and points) and not any(p.is_believed for p in points)

    def opening(self, findings: Findings, width: int) -> Opening:
        """How many runs, and why not."""
        runs = [r for s in findings.services for point in s.points for r in point.runs]
        found = doubts.of_services(findings)
        lines = [f"- {one.what}, {one.times} times: {one.detail}" for one in found]
        return Opening(
            headline=f"No number: none of {len(runs)} runs can be believed",
            sentences=tuple(f"{one.what} ({one.times} times).".capitalize() for one in found[:1])
            + tuple(_mend(one) for one in found[:1] if _mend(one)),
            figures=(slug(f"{findings.services[0].label}-by-factor"),),
            text=tuple(
                part for line in lines
                for part in textwrap.wrap(line, width, subsequent_indent="  ")
            ),
        )  # fmt: skip


def _mend(one: people.Doubt) -> str:
    """What would help, if the doubt says so in a sentence that is short enough."""
    _, semicolon, mend = one.detail.rpartition(HELP)
    said = f"{mend[:1].upper()}{mend[1:]}."
    return said if semicolon and len(said.split()) <= WORDS_MAX else ""


KIND = Unbelieved()
