"""How reports open: a file a picture, in order of priority; the first that applies opens.

Adding one is a file with a `KIND` and a line in `KINDS`, before `plain`. A question has its own in
its folder.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn import kinds
from sojourn.findings.findings import Findings
from sojourn.report import parts
from sojourn.report.openings import (
    classes,
    interference,
    places,
    plain,
    services,
    settings,
    trends,
    unbelieved,
)
from sojourn.report.openings.opening import Opening, Opens

#: Of every study, in order of priority; the last one applies to all.
KINDS: Mapping[str, Opens] = kinds.table(
    interference.KIND,
    unbelieved.KIND,
    classes.KIND,
    services.KIND,
    places.KIND,
    trends.KIND,
    settings.KIND,
    plain.KIND,
)


def every() -> tuple[Opens, ...]:
    """All of the table and those of questions, in order of priority."""
    return tuple(sorted((*KINDS.values(), *parts.openings()), key=lambda one: one.place))


def of(findings: Findings, width: int = 80) -> Opening:
    """The first screen of a study.

    Args:
        findings: of any study.
        width: columns of the terminal, at least 60.
    """
    return next(kind for kind in every() if kind.applies(findings)).opening(findings, width)


def one_line(findings: Findings) -> str:
    """Headline and sentences of the first screen; where it shows tiles, the services' answers."""
    opening = of(findings)
    if opening.has_tiles or not opening.sentences:
        return findings.answer
    return " ".join([f"{opening.headline}.", *opening.sentences])


__all__ = ["KINDS", "Opening", "Opens", "every", "of", "one_line"]
