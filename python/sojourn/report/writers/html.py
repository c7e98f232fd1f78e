"""The page: one file with every figure in it, which needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn import extras
from sojourn.findings.findings import Findings
from sojourn.report import figures, page, volume
from sojourn.report.draw.figure import Figure
from sojourn.report.writers.writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The figures of a report.

    Attributes:
        of_services: by service label.
        of_study: about the study as a whole.
    """

    of_services: Mapping[str, Sequence[Figure]]
    of_study: Sequence[Figure]


def drawn(findings: Findings) -> Drawn:
    """Every figure of services and study."""
    is_crowded = volume.is_crowded(findings)
    return Drawn(
        of_services={
            s.service: figures.of_service(s, is_crowded=is_crowded) for s in findings.services
        },
        of_study=figures.of_study(findings),
    )


def with_figures(findings: Findings, of: Drawn) -> bytes:
    """The page with figures that are drawn already."""
    return page.html(findings, of_services=of.of_services, of_study=of.of_study).encode()


def content(findings: Findings) -> bytes:
    """The page with all its figures."""
    return with_figures(findings, drawn(findings))


WRITER = Writer(
    name="html",
    about="the report's page, with every figure",
    content=content,
    needs=extras.PAGES,
)
