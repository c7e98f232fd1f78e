"""A study with factors of which no run can be believed: said once, with what would help most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.report import doubts, people
from sojourn.report.draw.table import Table
from sojourn.report.openings.opening import WORDS_MAX, Opening, Opens, capital, listed, words

HELP = "; "  # before what would fix it
HEAD = ("why", "times", "where")
INSTANCE = "for instance "


class Unbelieved(Opens):
    """Nothing to draw but what was measured and not believed."""

    name = "unbelieved"
    place = 60

    def applies(self, findings: Findings) -> bool:
        """Where loads were measured under several levels, and not one of them is believed."""
        points = [point for service in findings.services for point in service.points]
        return bool(findings.factors and points) and not any(p.is_believed for p in points)

    def opening(self, findings: Findings, width: int) -> Opening:
        """How many runs, and why not."""
        runs = [r for s in findings.services for point in s.points for r in point.runs]
        result = doubts.of_services(findings, has_runs=True)
        rows = [(one.what, str(one.times), one.where) for one in result]
        return Opening(
            headline=f"No number: none of {len(runs)} runs is valid",
            sentences=tuple(_sentences(result)),
            figures=(),  # a picture of them would be empty
            text=tuple(listed(HEAD, rows, width)) if rows else (),
            table=Table(columns=HEAD, rows=tuple(rows)) if rows else None,
            caption="Why runs are not valid",
        )


def _sentences(results: Sequence[people.Doubt]) -> Iterator[str]:
    """What was most frequent, one instance of it, and what would help."""
    if not results:
        return
    first, second = results[0], results[1] if len(results) > 1 else None
    also = f", {second.what} {second.times} times" if second else ""
    yield capital(f"{first.what} {first.times} times{also}.")
    instance, semicolon, fix = first.detail.removeprefix(INSTANCE).rpartition(HELP)
    if semicolon:
        texts = (capital(f"{instance}."), f"What would help: {fix}.")
        yield from (one for one in texts if words(one) <= WORDS_MAX)


KIND = Unbelieved()
